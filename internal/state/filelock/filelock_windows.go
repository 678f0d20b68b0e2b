package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockOffset is the locked byte: locks on Windows also prevent reading, so it is a byte that is never written.
const lockOffset = 1 << 30

func try(f *os.File, alone bool) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if alone {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{Offset: lockOffset})
	switch {
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return ErrLocked
	case err != nil:
		return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return nil
}

// remove closes the file first: Windows doesn't remove open files, so a file that another process has opened
// meanwhile stays. An unlocked file that stays does no harm.
func remove(f *os.File) error {
	err := f.Close()
	if rerr := ignoreMissing(os.Remove(f.Name())); !errors.Is(rerr, windows.ERROR_SHARING_VIOLATION) {
		err = errors.Join(err, rerr)
	}
	return err
}
