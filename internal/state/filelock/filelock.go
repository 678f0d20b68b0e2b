// Package filelock locks open files, to show other processes that this one lives: a lock ends when its file is
// closed, and so with its process, in whatever way that dies. It works from any PID namespace, unlike process ids.
//
// The lock belongs to the open file, not to the process: two Opens of the same path in one process also exclude each
// other. Children don't inherit it, since Go closes files in them, except for the moment before their program begins:
// see Held. Some file systems have no locks; that is an error other than ErrLocked.
package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// ErrLocked says that another open file has the lock.
var ErrLocked = errors.New("locked")

// Alone takes an exclusive lock on f, without waiting. The error wraps ErrLocked if another file has a lock of either
// kind.
func Alone(f *os.File) error { return try(f, true) }

// Shared takes a shared lock on f, without waiting. The error wraps ErrLocked if another file has an exclusive one.
func Shared(f *os.File) error { return try(f, false) }

// Take opens the file at a path, creates it with perm if there is none, and takes an exclusive lock on it, without
// waiting. The error wraps ErrLocked if another file has a lock. Remove gives it back.
func Take(path string, perm os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, perm)
	if err != nil {
		return nil, err
	}
	if err = Alone(f); err == nil && !atPath(f) {
		// Its last owner removed it after the opening: the lock is on a file without a path.
		err = ErrLocked
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Prune removes the lock files of killed processes from a folder: those without a lock. is selects them by name.
func Prune(dir string, is func(name string) bool) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !is(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		f, err := os.OpenFile(filepath.Join(dir, e.Name()), os.O_RDWR, 0)
		if err != nil {
			continue // It is gone, or belongs to another user.
		}
		prune(f)
	}
}

// prune closes a lock file, and removes it if no process has the lock. If its owner has removed it since it was
// opened, and another process has created a new file at its path, that stays.
func prune(f *os.File) {
	if Alone(f) != nil || !atPath(f) {
		f.Close()
		return
	}
	_ = Remove(f) // A file that can't be removed does no harm.
}

// atPath reports whether an open file is still the one at its path.
func atPath(f *os.File) bool {
	own, err1 := f.Stat()
	there, err2 := os.Lstat(f.Name())
	return err1 == nil && err2 == nil && os.SameFile(own, there)
}

// Held reports whether an open file has an exclusive lock on the file at a path. Several callers may ask at once. The
// error wraps fs.ErrNotExist if there is no such file.
func Held(path string) (bool, error) {
	// A child that starts meanwhile would have the file, and its lock, until its program begins.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // A pipe's opener would wait for its writer.
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = Shared(f)
	if errors.Is(err, ErrLocked) {
		return true, nil
	}
	return false, err
}

// Remove removes and closes a file that f has locked exclusively, or that no other process knows. It never removes a
// file of the same name that another process has locked meanwhile. So a caller that opens a file and locks it must
// check afterwards that it is still at its path. A missing file is no error.
func Remove(f *os.File) error { return remove(f) }

// ignoreMissing returns nil for the error of a missing file.
func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
