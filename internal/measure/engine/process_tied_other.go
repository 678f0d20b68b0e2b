//go:build !linux

package engine

// startTied starts the child, not tied: children that need to be tied run on Linux only.
func (p *Process) startTied() error { return p.Cmd.Start() }
