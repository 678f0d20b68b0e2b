//go:build !linux

package engine

// startTied starts the child. What is to be tied to plimsoll runs on Linux alone.
func (p *Process) startTied() error { return p.Cmd.Start() }
