package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
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

// ownFault makes a *StateFullError of an error of room in the folder state, and names the fix of one that is
// read-only or another's. It leaves any other error as it is, also that of a user's own folder.
func ownFault(state string, err error) error {
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

var (
	_ Mortal = (*docker)(nil)
	_ Mortal = (*oci)(nil)
	_ Mortal = (*host)(nil)
)

// goneTimeout is how long a daemon may take to say that it is there; one that is busy answers
// within a second.
const goneTimeout = 10 * time.Second

// Gone implements Mortal: it asks the daemon anew.
func (e *docker) Gone(ctx context.Context, _ Spec) error {
	ctx, cancel := context.WithTimeout(ctx, goneTimeout)
	defer cancel()
	_, _, err := e.connect(ctx, true)
	return err
}

// Gone implements Mortal: the runtime has to run the smallest container anew. One that was uninstalled, or may
// no longer make control groups, would fail every cell. A full state folder is not looked for: the
// cell that failed may have filled it, and what it wrote goes with its container.
func (o *oci) Gone(ctx context.Context, spec Spec) error {
	o.mu.Lock()
	rt := o.chosen[spec.Runtime]
	o.mu.Unlock()
	if rt == nil {
		return nil
	}
	if err := o.worker.gone(o.state); err != nil {
		return err
	}
	if _, err := trustedProgram(rt.path); err != nil {
		return fmt.Errorf("the runtime %s, which ran containers before, can't be run any more: %w", rt.path, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, tryTimeout, errHung)
	defer cancel()
	err := o.try(ctx, rt)
	var full *StateFullError
	if err == nil || errors.As(err, &full) {
		return nil
	}
	return fmt.Errorf("the runtime %s runs no container any more: %w", rt.path, err)
}

// Gone implements Mortal: the worker has to be there, and to be let run.
func (h *host) Gone(context.Context, Spec) error { return h.worker.gone(h.state) }

// gone reports why the worker of this machine can't be run from the state folder any more, nil if it
// can or if only room is missing.
func (i *installer) gone(state string) error {
	_, err := i.install(runtime.GOOS, runtime.GOARCH)
	var full *StateFullError
	if err == nil || errors.As(ownFault(state, err), &full) {
		return nil
	}
	return fmt.Errorf("the worker can't be run any more: %w; %s", err, installFix)
}
