package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
)

// A StateFullError says that the file system of Plimsoll's own state folder is full. Neither the place nor the workload
// under test is at fault.
type StateFullError struct {
	// State is the state folder.
	State string
	Err   error
}

// Error implements error.
func (e *StateFullError) Error() string {
	return fmt.Sprintf("Plimsoll's own state folder %s is full: free some space, or name another folder with --state: %v", e.State, e.Err)
}

// Unwrap returns the system's error.
func (e *StateFullError) Unwrap() error { return e.Err }

// StateFault turns an error of a full state folder into a *StateFullError, and adds the fix to that of a folder which can't
// be written. It returns other errors, and those of a user's own folder, unchanged.
func StateFault(state string, err error) error {
	full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
	shut := errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)
	var p *fs.PathError
	named := errors.As(err, &p)
	if named && filepath.IsAbs(p.Path) {
		abs, aerr := filepath.Abs(state)
		rel, rerr := filepath.Rel(abs, p.Path)
		if aerr == nil && (rerr != nil || !filepath.IsLocal(rel)) {
			return err
		}
	}
	switch {
	case full:
		return &StateFullError{state, err}
	case named && shut:
		return fmt.Errorf("%w; Plimsoll's own state folder must be writable: name another folder with --state", err)
	}
	return err
}
