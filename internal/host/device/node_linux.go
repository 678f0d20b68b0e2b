package device

import "golang.org/x/sys/unix"

// BlockNode returns the number of the block device that path names.
func BlockNode(path string) (major, minor uint32, ok bool) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return 0, 0, false
	}
	return unix.Major(st.Rdev), unix.Minor(st.Rdev), true
}
