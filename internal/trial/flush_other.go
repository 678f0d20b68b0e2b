//go:build !linux

package trial

import (
	"errors"
	"os"
)

// syncFS: only Linux has limits that this is about.
func syncFS(*os.File) error { return errors.ErrUnsupported }
