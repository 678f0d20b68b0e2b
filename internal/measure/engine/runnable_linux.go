package engine

import (
	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// runnable asks the kernel whether it would run a program: not from a file system that is
// mounted noexec (access(2), "EACCES"), whatever the file's mode is.
func runnable(path string) error {
	return eintr.Retry(func() error { return unix.Access(path, unix.X_OK) })
}
