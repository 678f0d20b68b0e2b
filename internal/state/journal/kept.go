package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"plimsoll/internal/host/procfs"
)

// Keep is Put for a thing that is to outlive the process: the entry belongs to no process. No sweep undoes it, and
// every process may replace or discard it.
func (j *Journal) Keep(ctx context.Context, kind, id string, payload any) error {
	return j.keep(ctx, kind, id, payload, func(err error) error { return err })
}

// Rewrite is Keep for an entry that may be damaged: the caller knows what it recorded.
func (j *Journal) Rewrite(ctx context.Context, kind, id string, payload any) error {
	return j.keep(ctx, kind, id, payload, exceptDamaged)
}

// keep is Keep. If there is an entry of that name for which but returns an error, that is the error, and the entry stays.
func (j *Journal) keep(ctx context.Context, kind, id string, payload any, but func(error) error) error {
	if j.dir == "" {
		return nil
	}
	path := j.Path(kind, id)
	e, err := newEntry(kind, id, procfs.Process{}, payload)
	if err == nil {
		err = j.change(ctx, func() error {
			if err := but(j.free(kind, id)); err != nil {
				return err
			}
			if err := j.write(e); err != nil {
				return err
			}
			delete(j.own, path)
			return j.release()
		})
	}
	if err != nil {
		return fmt.Errorf("record %s %s: %w", kind, id, err)
	}
	return nil
}

// Discard removes an entry after the thing is gone, if it belongs to no process, to this one, or to one that has
// ended. The error is an OwnedError if another living process owns it. Without such an entry Discard does nothing.
func (j *Journal) Discard(ctx context.Context, kind, id string) error {
	return j.discard(ctx, kind, id, func(err error) error { return err })
}

// DiscardDamaged is Discard for an entry that may be damaged: the caller knows that its thing is gone.
func (j *Journal) DiscardDamaged(ctx context.Context, kind, id string) error {
	return j.discard(ctx, kind, id, exceptDamaged)
}

// exceptDamaged returns err, or nil for the error of a damaged entry.
func exceptDamaged(err error) error {
	if errors.As(err, new(*DamagedError)) {
		return nil
	}
	return err
}

// discard removes an entry. If but returns an error for it, that is the error, and the entry stays.
func (j *Journal) discard(ctx context.Context, kind, id string, but func(error) error) error {
	if _, err := j.Get(kind, id); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	path := j.Path(kind, id)
	err := j.change(ctx, func() error {
		if err := but(j.free(kind, id)); err != nil {
			return err
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		delete(j.own, path)
		return j.release()
	})
	if err != nil {
		return fmt.Errorf("remove the record of %s %s: %w", kind, id, err)
	}
	return nil
}
