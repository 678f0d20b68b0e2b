//go:build !linux && !windows

package workload

import (
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// takeSnapshot reads no counters on this system.
func takeSnapshot(bool) snapshot { return snapshot{at: time.Now()} }

// Monotonic is not known on this system.
func Monotonic() time.Duration { return 0 }

// fdatasync syncs data and metadata; this system has no call for the data alone.
func fdatasync(fd int) error {
	return eintr.Retry(func() error { return unix.Fsync(fd) })
}
