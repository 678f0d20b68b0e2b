//go:build !linux

package engine

// startTied starts the child. What is to be tied to plimsoll runs on Linux alone.
func (p *process) startTied() error { return p.cmd.Start() }
