//go:build !linux

package trial

import (
	"errors"
	"os"
)

func openFolder(path string) (*os.File, error) { return os.Open(path) }

// syncFS: only Linux has limits that this is about.
func syncFS(*os.File) error { return errors.ErrUnsupported }
