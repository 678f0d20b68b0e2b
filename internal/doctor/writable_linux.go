package doctor

import (
	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// writable asks the kernel rather than writing: doctor leaves no trace.
func writable(dir string) bool {
	return eintr.Retry(func() error { return unix.Access(dir, unix.W_OK) }) == nil
}

// noexec reports whether programs can't run from dir's file system.
func noexec(dir string) bool {
	var st unix.Statfs_t
	return eintr.Retry(func() error { return unix.Statfs(dir, &st) }) == nil && st.Flags&unix.ST_NOEXEC != 0
}
