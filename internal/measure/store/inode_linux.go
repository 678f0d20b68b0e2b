package store

import (
	"strconv"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// inode returns the number of a file as in /proc/locks, or "" if there is none.
func inode(path string) string {
	var st unix.Stat_t
	if eintr.Retry(func() error { return unix.Stat(path, &st) }) != nil {
		return ""
	}
	return strconv.FormatUint(st.Ino, 10)
}
