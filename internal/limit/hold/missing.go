package hold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"plimsoll/internal/container/target"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/refusal"
)

// A MissingError says that a path named by the user doesn't exist.
type MissingError struct {
	// Target is where it was looked for, "" for the host.
	Target, Path string
}

// Error implements error.
func (e *MissingError) Error() string {
	if e.Target == "" {
		return fmt.Sprintf("there is no %s on this host: name a folder or a file that exists", clean.Name(e.Path))
	}
	return fmt.Sprintf("there is no %s in %s: name a folder or a file that it has", clean.Name(e.Path), e.Target)
}

// ExitStatus is that of wrong usage.
func (e *MissingError) ExitStatus() int { return 2 }

// Is makes it match fs.ErrNotExist.
func (e *MissingError) Is(err error) bool { return err == fs.ErrNotExist }

// elsewhere returns the error that a target is not on this machine's kernel.
func elsewhere(t target.Target) error {
	return &refusal.Error{Act: refusal.Limited, What: t.Ref(), Why: t.Elsewhere, Fix: "run plimsoll there", OS: t.OS}
}

// named returns the data at a path that a user named: of the target itself or, if that has no files of its own, of the
// host.
func (h *Holder) named(t target.Target, path string) ([]Place, error) {
	path = filepath.Clean(path)
	if t.PID != 0 {
		g, err := h.inside(t, path, path)
		if errors.Is(err, fs.ErrNotExist) && t.Rootfs == "" && h.Finder.Alive(t) == nil {
			err = &MissingError{t.Ref(), path}
		}
		return g, err
	}
	// The filesystem of a path that doesn't exist yet is known, but such a path is probably a typing error.
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &MissingError{"", path}
	}
	if err != nil {
		return nil, err
	}
	return h.hostPlace(path, path)
}
