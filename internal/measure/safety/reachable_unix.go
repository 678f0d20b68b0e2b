//go:build unix

package safety

import (
	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// reachable reports whether this process can work in a folder.
func reachable(path string) bool {
	return eintr.Retry(func() error { return unix.Access(path, unix.W_OK|unix.X_OK) }) == nil
}
