package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockOffset is the byte that is locked: locks on Windows also keep others from
// reading, so it is one that is never written.
const lockOffset = 1 << 30

// tryLock locks f for itself alone, or shared with others of its kind, without
// waiting. The lock ends when f is closed.
func tryLock(f *os.File, alone bool) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if alone {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{Offset: lockOffset})
	switch {
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return errLocked
	case err != nil:
		return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return nil
}

// removeLocked leaves the file: Windows removes no open file, and an unlocked one does
// no harm.
func removeLocked(string) error { return nil }
