//go:build !linux

package engine

import (
	"errors"
	"os"
)

// lockOwn is not supported: elsewhere than on Linux there are no PID namespaces, and
// process ids do.
func lockOwn(*os.File) (taken bool, err error) { return false, errors.ErrUnsupported }
