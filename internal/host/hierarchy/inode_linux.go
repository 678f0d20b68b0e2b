package hierarchy

import "golang.org/x/sys/unix"

// Inode returns the inode of a control group's folder, which no other group gets until the next boot; 0 if the folder isn't there.
func Inode(dir string) uint64 {
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil {
		return 0
	}
	return st.Ino
}
