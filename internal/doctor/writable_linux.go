package doctor

import (
	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// writable asks the kernel instead of writing: doctor leaves no trace.
func writable(dir string) bool {
	return eintr.Retry(func() error { return unix.Access(dir, unix.W_OK) }) == nil
}

// noexec reports whether no program can be run from dir's file system.
func noexec(dir string) bool {
	var st unix.Statfs_t
	return eintr.Retry(func() error { return unix.Statfs(dir, &st) }) == nil && st.Flags&unix.ST_NOEXEC != 0
}
