package filelock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Write makes the file to, complete or not at all: write fills one beside it, whose name begins with a dot and the prefix, and which
// takes the place of to at the end. It is locked meanwhile, so that Sweep finds it if the process is killed.
func Write(to, prefix string, write func(*os.File) error) error {
	f, err := Create(filepath.Dir(to), "."+prefix+"*")
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		// Else a power cut could leave an empty file of that name.
		err = f.Sync()
	}
	if err == nil {
		return rename(f, to)
	}
	err = errors.Join(err, f.Close()) // Windows removes no open file.
	return errors.Join(err, ignoreMissing(os.Remove(f.Name())))
}

// Create makes a new file, named as os.CreateTemp does, and locks it alone, where there are locks.
func Create(dir, pattern string) (*os.File, error) {
	for {
		f, err := os.CreateTemp(dir, pattern)
		if err != nil {
			return nil, err
		}
		locked := Alone(f)
		own, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		there, err := os.Lstat(f.Name())
		if !errors.Is(locked, ErrLocked) && err == nil && os.SameFile(own, there) {
			return f, nil
		}
		// A sweep came in between and has removed it, or is about to.
		f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

// Sweep removes the files in dir that Writes with that prefix left behind whose process is dead, and lists them. Where there are no locks
// it leaves them.
func Sweep(dir, prefix string) (removed []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	var errs []error
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "."+prefix) || !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue // It is gone, or another user's.
		}
		if Alone(f) != nil {
			f.Close()
			continue
		}
		// One that got its name before it was locked is no leftover any more, and no longer called so.
		if err := Remove(f); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, path)
	}
	return removed, errors.Join(errs...)
}
