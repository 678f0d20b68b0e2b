package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
)

// A Mortal engine needs something that may end while it is used.
type Mortal interface {
	// Gone returns nil as long as sessions like spec's can be opened as far as that is the engine's part, and
	// else why not. What never worked is not gone. It is meant for after a failure, and answers within some seconds.
	Gone(ctx context.Context, spec Spec) error
}

// A StateFullError says that there is no room for what Plimsoll itself keeps in its state
// folder. It is no fault of the place or the workload that was asked for.
type StateFullError struct {
	// State is the folder.
	State string
	Err   error
}

// Error implements error.
func (e *StateFullError) Error() string {
	return fmt.Sprintf("Plimsoll's own state folder %s is full: free some, or name another with --state: %v", e.State, e.Err)
}

// Unwrap returns what the system said.
func (e *StateFullError) Unwrap() error { return e.Err }

// StateFault makes a *StateFullError of an error of room in the folder state, and names the fix of one that is
// read-only or another's. It leaves any other error as it is, also that of a user's own folder.
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
		return fmt.Errorf("%w; Plimsoll's own state folder has to be writable: name another with --state", err)
	}
	return err
}
