//go:build !unix && !windows

package filelock

import (
	"errors"
	"os"
)

func try(*os.File, bool) error { return errors.ErrUnsupported }

func remove(f *os.File) error {
	return errors.Join(f.Close(), ignoreMissing(os.Remove(f.Name())))
}
