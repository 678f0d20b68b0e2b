// Package filelock locks open files, by which processes tell each other that they live: a lock ends when its
// file is closed, and so with its process, however that dies. It can be asked for from
// any PID namespace, in which process ids can't.
//
// The lock is the open file's, not the process': two Opens of the same path in one process exclude each
// other too. Children don't inherit it, as Go's files are closed in them, but for the moment before their
// program begins: see Held. Some file systems have no locks; that is an error other than ErrLocked.
package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// ErrLocked says that another open file has the lock.
var ErrLocked = errors.New("locked")

// Alone locks f for itself alone, without waiting. The error wraps ErrLocked if another has a
// lock of either kind.
func Alone(f *os.File) error { return try(f, true) }

// Shared locks f together with others that ask for no more, without waiting. The error wraps ErrLocked
// if another has it alone.
func Shared(f *os.File) error { return try(f, false) }

// Take opens the file at a path, which it makes with perm if there is none, and locks it alone, without waiting. The error wraps ErrLocked if another
// has it. Remove gives it back.
func Take(path string, perm os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, perm)
	if err != nil {
		return nil, err
	}
	if err = Alone(f); err == nil && !atPath(f) {
		// Its last owner removed it between the two: that is a lock on nothing.
		err = ErrLocked
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Prune removes the lock files of killed processes from a folder: those that no process has locked. is selects them by name.
func Prune(dir string, is func(name string) bool) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !is(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		f, err := os.OpenFile(filepath.Join(dir, e.Name()), os.O_RDWR, 0)
		if err != nil {
			continue // It is gone, or another user's.
		}
		prune(f)
	}
}

// prune closes a lock file, and removes it if no process has the lock. Its owner may have removed it since it was opened, and another may have
// made a new file at its path, which stays.
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

// Held reports whether an open file has the lock of the file at a path for itself alone. Several may ask at once. The error wraps fs.ErrNotExist if there is
// no such file.
func Held(path string) (bool, error) {
	// A child that is started meanwhile would have the file, and its lock, until its program begins.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	f, err := os.Open(path)
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

// Remove removes a file that f has locked alone, or that no other process knows, and closes it, so that no file of the same name is
// removed that another process has locked meanwhile. A caller that opens a file to lock it has to see afterwards
// whether it is still the one at its path. It is no error that it is gone.
func Remove(f *os.File) error { return remove(f) }

// ignoreMissing is nil for a file that isn't there.
func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
