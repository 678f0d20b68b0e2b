//go:build unix

package main

import (
	"os"
	"syscall"
)

// becomeProgram replaces this process by a program. It returns only if that fails.
func becomeProgram(path string, argv []string) error {
	return syscall.Exec(path, argv, os.Environ())
}
