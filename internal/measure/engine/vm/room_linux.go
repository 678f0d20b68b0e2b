package vm

import (
	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// isFull reports whether hardly a block is left on the file system of path.
func isFull(path string) bool {
	var st unix.Statfs_t
	return eintr.Retry(func() error { return unix.Statfs(path, &st) }) == nil && st.Blocks > 0 && int64(st.Bavail)*st.Bsize < diskBreath
}
