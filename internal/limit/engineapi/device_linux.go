package engineapi

import "golang.org/x/sys/unix"

// deviceNumber returns a block device's number.
func deviceNumber(path string) (major, minor uint32, ok bool) {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return 0, 0, false
	}
	return unix.Major(uint64(st.Rdev)), unix.Minor(uint64(st.Rdev)), true
}
