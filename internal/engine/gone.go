package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"
)

// A Mortal engine needs something that may end while it is used.
type Mortal interface {
	// Gone returns nil as long as the engine can be asked, and else why not. It is meant for after a
	// failure, and answers within some seconds.
	Gone(ctx context.Context) error
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

// ownRoom makes a *StateFullError of an error of room in the folder state, and leaves any
// other as it is, also that of a user's own full folder.
func ownRoom(state string, err error) error {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	var p *fs.PathError
	if errors.As(err, &p) && filepath.IsAbs(p.Path) {
		abs, aerr := filepath.Abs(state)
		rel, rerr := filepath.Rel(abs, p.Path)
		if aerr == nil && (rerr != nil || !filepath.IsLocal(rel)) {
			return err
		}
	}
	return &StateFullError{state, err}
}

var _ Mortal = (*docker)(nil)

// goneTimeout is how long a daemon may take to say that it is there; one that is busy answers
// within a second.
const goneTimeout = 10 * time.Second

// Gone implements Mortal: it asks the daemon anew.
func (e *docker) Gone(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, goneTimeout)
	defer cancel()
	_, _, err := e.connect(ctx, true)
	return err
}
