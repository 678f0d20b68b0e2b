//go:build !linux

package verify

import (
	"errors"
	"os"
)

// syncFS is the Linux kernel's.
func syncFS(*os.File) error { return errors.ErrUnsupported }
