//go:build unix

package load

import (
	"errors"
	"syscall"
)

// noRoom reports whether err means that the file system, the device or the quota is full.
func noRoom(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
