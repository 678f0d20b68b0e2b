package engine

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockOwn takes the lock of an open file, unless another has it (flock(2)). It ends when the
// file is closed, with the process at the latest; children don't inherit it, as Go's files are
// closed in them.
func lockOwn(f *os.File) (taken bool, err error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, err
		}
	}
}
