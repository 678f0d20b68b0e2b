//go:build !linux

package verify

import (
	"errors"
	"os"
)

func openFolder(path string) (*os.File, error) { return os.Open(path) }

// syncFS is the Linux kernel's.
func syncFS(*os.File) error { return errors.ErrUnsupported }
