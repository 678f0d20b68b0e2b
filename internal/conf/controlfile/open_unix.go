//go:build unix

package controlfile

import "syscall"

// atOnce keeps the opening of a named pipe from blocking, if there is one after all, and makes that of a terminal
// harmless.
const atOnce = syscall.O_NONBLOCK | syscall.O_NOCTTY
