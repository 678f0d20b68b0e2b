//go:build unix

package engine

import "syscall"

// ownGroup puts a child into a process group of its own, so that the terminal's
// Ctrl-C reaches plimsoll alone.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
