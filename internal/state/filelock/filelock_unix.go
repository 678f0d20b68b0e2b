//go:build unix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// try uses flock(2) and not fcntl(2), whose locks a process loses when it closes any
// other descriptor of the file.
func try(f *os.File, alone bool) error {
	how := unix.LOCK_SH
	if alone {
		how = unix.LOCK_EX
	}
	err := eintr.Retry(func() error { return unix.Flock(int(f.Fd()), how|unix.LOCK_NB) })
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return ErrLocked
	case err != nil:
		return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return nil
}

// remove removes the file while it is locked.
func remove(f *os.File) error {
	err := ignoreMissing(os.Remove(f.Name()))
	return errors.Join(err, f.Close())
}

// rename gives the file another name while it is locked, and closes it. If that fails it removes the file.
func rename(f *os.File, to string) error {
	err := named(os.Rename(f.Name(), to), to)
	if err != nil {
		err = errors.Join(err, ignoreMissing(os.Remove(f.Name())))
	}
	return errors.Join(err, f.Close())
}
