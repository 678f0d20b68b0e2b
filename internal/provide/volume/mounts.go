package volume

import (
	"errors"
	"io/fs"
	"path/filepath"

	"plimsoll/internal/host/device"
)

// mountedAt returns a folder if something is mounted on it, else "".
func mountedAt(folder string) (string, error) {
	real, err := filepath.EvalSymlinks(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	mounts, err := device.Host().Mounts()
	if err != nil {
		return "", err
	}
	for _, m := range mounts {
		if m.Point == real {
			return folder, nil
		}
	}
	return "", nil
}
