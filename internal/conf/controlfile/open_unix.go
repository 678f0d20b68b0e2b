//go:build unix

package controlfile

import "syscall"

// atOnce makes the opening of a named pipe return at once, should one be there after all, and that of a terminal harmless.
const atOnce = syscall.O_NONBLOCK | syscall.O_NOCTTY
