package image

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/loop"
)

// Device opens the loop device of an image, for reading; nil if it has none. While the result is open, the device keeps its number and
// its file. It waits for no other call.
func Device(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return loop.Find(f)
}
