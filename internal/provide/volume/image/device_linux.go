package image

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/loop"
	"plimsoll/internal/host/luks"
)

// Device opens the device with the file system of an image, for reading, and returns its number; nil if it has none: the loop device, or the encrypted one on it.
// While the result is open, the device keeps its number and its file. It waits for no other call.
func Device(path string) (d *os.File, n device.Number, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, n, nil
	}
	if err != nil {
		return nil, n, err
	}
	defer f.Close()
	if d, err = loop.Find(f); d == nil || err != nil {
		return nil, n, err
	}
	if d, err = luks.On(d, f); d == nil || err != nil {
		return nil, n, err
	}
	if n, err = loop.Number(d); err != nil {
		return nil, n, errors.Join(err, d.Close())
	}
	return d, n, nil
}
