package load

import (
	"errors"

	"golang.org/x/sys/windows"
)

// noRoom reports whether err means that the file system, the device or the quota is full.
func noRoom(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) || errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}
