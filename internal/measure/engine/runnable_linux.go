package engine

import (
	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// runnable asks the kernel whether it would run a program. It refuses one on a file system mounted noexec, whatever the
// file's mode (access(2), "EACCES").
func runnable(path string) error {
	return eintr.Retry(func() error { return unix.Access(path, unix.X_OK) })
}
