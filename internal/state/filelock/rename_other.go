//go:build !unix

package filelock

import (
	"errors"
	"os"
)

// rename closes the file and renames it: Windows doesn't rename open files. If that fails it removes the file.
func rename(f *os.File, to string) error {
	err := f.Close()
	if err == nil {
		err = named(os.Rename(f.Name(), to), to)
	}
	if err != nil {
		err = errors.Join(err, ignoreMissing(os.Remove(f.Name())))
	}
	return err
}
