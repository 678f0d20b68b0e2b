package runs

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// writable refuses a folder in which this user may create no file, before every cell of it fails in every block. It
// leaves other causes, such as a disk that became read-only, to the trials.
func writable(path string) error {
	if err := eintr.Retry(func() error { return unix.Access(path, unix.W_OK|unix.X_OK) }); errors.Is(err, unix.EACCES) || errors.Is(err, unix.EROFS) {
		return fmt.Errorf("%s can't be written: %w", path, err)
	}
	return nil
}
