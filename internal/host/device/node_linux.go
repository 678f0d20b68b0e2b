package device

import "golang.org/x/sys/unix"

// NumberOf returns the number in a field of stat(2): a file system's in st_dev, a device's in st_rdev.
func NumberOf(dev uint64) Number { return Number{unix.Major(dev), unix.Minor(dev)} }

// BlockNode returns the number of the block device that path names.
func BlockNode(path string) (_ Number, ok bool) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return Number{}, false
	}
	return NumberOf(st.Rdev), true
}
