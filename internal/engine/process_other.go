//go:build !unix

package engine

import "syscall"

// ownGroup needs nothing on this system.
func ownGroup() *syscall.SysProcAttr { return nil }
