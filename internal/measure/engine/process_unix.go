//go:build unix

package engine

import (
	"os"
	"syscall"
)

// ownGroup puts a child into a process group of its own, so that the terminal's
// Ctrl-C reaches plimsoll alone.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills a child and what it has started. The child must not have been reaped: another process may have its
// number, or the group's, then.
func killGroup(p *os.Process) {
	syscall.Kill(-p.Pid, syscall.SIGKILL)
	p.Kill()
}
