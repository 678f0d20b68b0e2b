package device

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileIdentity distinguishes a file from a later one with its name or its inode. The device number of the file system isn't a part
// of it, because it may change at a reboot.
func fileIdentity(path string) string {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return ""
	}
	id := fmt.Sprintf("%s inode %d", path, st.Ino)
	if st.Mask&unix.STATX_BTIME == 0 {
		return "" // The kernel reuses inodes.
	}
	return fmt.Sprintf("%s of %d.%09d", id, st.Btime.Sec, st.Btime.Nsec)
}
