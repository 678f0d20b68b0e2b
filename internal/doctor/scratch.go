package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Scratch is a folder in which engines may be probed without leaving anything. Engines keep the worker's program in the state folder; where
// there is none yet, a folder beside it stands in. remove has to be called at the end.
func Scratch(state string) (dir string, remove func(), err error) {
	nearest := Existing(state)
	if nearest == state {
		return state, func() {}, nil
	}
	dir, err = os.MkdirTemp(nearest, ".plimsoll-doctor-")
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		dir, err = os.MkdirTemp("", "plimsoll-doctor-")
	}
	if err != nil {
		return "", nil, fmt.Errorf("scratch folder for probes: %w", err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}
