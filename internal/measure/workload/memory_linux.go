package workload

import (
	"slices"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// inMemory reports whether a file lies in a file system that is memory. Such a
// file has no direct I/O before Linux 6.6, and since then tmpfs accepts O_DIRECT and ignores
// it (kernel commit e88e0d366f9c, "tmpfs: trivial support for direct IO").
func inMemory(path string) bool {
	var st unix.Statfs_t
	if err := eintr.Retry(func() error { return unix.Statfs(path, &st) }); err != nil {
		return false
	}
	// uint32, because the field is signed and of several sizes.
	return slices.Contains([]uint32{unix.TMPFS_MAGIC, unix.RAMFS_MAGIC}, uint32(st.Type))
}
