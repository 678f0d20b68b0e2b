package filelock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Write creates the file to, whole or not at all: write fills a temporary file beside it, whose name begins with a
// dot and the prefix, and which replaces to at the end. It is locked meanwhile, so that Sweep finds it if the process
// is killed. An error of the temporary file names to instead, so that a fault that stays has the same text each time.
// When Write returns, the file survives a power cut.
func Write(to, prefix string, write func(*os.File) error) error {
	return replace(to, prefix, write, (*os.File).Sync)
}

// WriteAhead is Write for a file that records something which a power cut mostly ends as well, such as a mount or a
// process. It returns when the kernel has begun to write the file to its disk, and doesn't wait, which is 10 ms on a
// common disk. After a power cut the file may be missing. It isn't empty on a file system that writes data before the
// name of its file, as ext4 does.
func WriteAhead(to, prefix string, write func(*os.File) error) error {
	return replace(to, prefix, write, beginWriteback)
}

// replace is Write; settle brings the written file to its disk.
func replace(to, prefix string, write func(*os.File) error, settle func(*os.File) error) error {
	f, err := Create(filepath.Dir(to), "."+prefix+"*")
	if err != nil {
		return named(err, to)
	}
	err = write(f)
	if err == nil {
		// Otherwise a power cut could leave an empty file of that name.
		err = settle(f)
	}
	if err == nil {
		return rename(f, to)
	}
	err = errors.Join(named(err, to), f.Close()) // Windows doesn't remove open files.
	return errors.Join(err, ignoreMissing(os.Remove(f.Name())))
}

// named is the error of a temporary file as one of the file to.
func named(err error, to string) error {
	switch e := err.(type) {
	case *fs.PathError:
		return &fs.PathError{Op: e.Op, Path: to, Err: e.Err}
	case *os.LinkError:
		return &fs.PathError{Op: e.Op, Path: to, Err: e.Err}
	}
	return err
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
		// A sweep has removed it before it was locked, or is about to.
		f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

// Sweep removes the temporary files that Writes of dead processes with that prefix have left in dir, and lists them.
// Without locks it leaves them.
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
			continue // It is gone, or belongs to another user.
		}
		if Alone(f) != nil {
			f.Close()
			continue
		}
		// A file that was renamed before it was locked is no leftover, and no longer has this name.
		if err := Remove(f); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, path)
	}
	return removed, errors.Join(errs...)
}
