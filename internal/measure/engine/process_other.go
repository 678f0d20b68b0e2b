//go:build !unix

package engine

import (
	"os"
	"syscall"
)

// ownGroup does nothing on this system.
func ownGroup() *syscall.SysProcAttr { return nil }

// killGroup kills the child alone; a trial ends with its input.
func killGroup(p *os.Process) { p.Kill() }
