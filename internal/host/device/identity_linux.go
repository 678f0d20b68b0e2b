package device

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileIdentity tells a file from another that has its name, or later its inode. The number of the file system's device isn't a part:
// it may be another after a boot.
func fileIdentity(path string) string {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return ""
	}
	id := fmt.Sprintf("%s inode %d", path, st.Ino)
	if st.Mask&unix.STATX_BTIME == 0 {
		return "" // An inode alone is given to the next file.
	}
	return fmt.Sprintf("%s of %d.%09d", id, st.Btime.Sec, st.Btime.Nsec)
}
