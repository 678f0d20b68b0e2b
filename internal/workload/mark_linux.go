package workload

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// markName is an extended attribute of files whose data Plimsoll wrote.
const markName = "user.plimsoll"

// stateOf is what a file's mark says: it is void when somebody else wrote to the file since.
func stateOf(path string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return "", unix.EINVAL
	}
	return fmt.Sprintf("%d %d.%09d", st.Size, st.Mtim.Sec, st.Mtim.Nsec), nil
}

// mark notes in a file that what it holds now is Plimsoll's. Where the file system has no such
// attributes nothing is noted; see stamped.
func mark(path string) {
	if s, err := stateOf(path); err == nil {
		_ = unix.Setxattr(path, markName, []byte(s), 0)
	}
}

// marked reports whether the file system has marks, and whether the file has one and holds what it held then.
func marked(path string) (can, same bool) {
	var p [64]byte
	n, err := unix.Getxattr(path, markName, p[:])
	if errors.Is(err, unix.ENOTSUP) {
		return false, false
	}
	if err != nil {
		return true, false // ENODATA first of all: it isn't marked.
	}
	s, err := stateOf(path)
	return true, err == nil && s == string(p[:n])
}
