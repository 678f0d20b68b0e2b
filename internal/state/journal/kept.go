package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"plimsoll/internal/host/procfs"
)

// Keep is Put for a thing that is to outlive the process: the entry belongs to no process. No sweep undoes it, and
// every process may replace or discard it.
func (j *Journal) Keep(ctx context.Context, kind, id string, payload any) error {
	return j.keep(ctx, kind, id, payload, false)
}

// Rewrite is Keep for an entry that may be damaged: the caller knows what it recorded.
func (j *Journal) Rewrite(ctx context.Context, kind, id string, payload any) error {
	return j.keep(ctx, kind, id, payload, true)
}

// Sync brings an entry to its disk, so that a power cut doesn't take it: for a thing that outlives one.
func (j *Journal) Sync(kind, id string) error {
	if j.dir == "" {
		return nil
	}
	path := j.Path(kind, id)
	for _, name := range []string{path, filepath.Dir(path), j.dir} {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return j.unwritten(err)
		}
	}
	return nil
}

// keep is Keep, or Rewrite if damaged is set.
func (j *Journal) keep(ctx context.Context, kind, id string, payload any, damaged bool) error {
	if j.dir == "" {
		return nil
	}
	path := j.Path(kind, id)
	e, err := newEntry(kind, id, procfs.Process{}, payload)
	if err == nil {
		err = j.change(ctx, func() error {
			if err := j.replaceable(kind, id, damaged); err != nil {
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
	return j.discard(ctx, kind, id, false)
}

// DiscardDamaged is Discard for an entry that may be damaged: the caller knows that its thing is gone.
func (j *Journal) DiscardDamaged(ctx context.Context, kind, id string) error {
	return j.discard(ctx, kind, id, true)
}

// replaceable is free, for which a damaged entry is no error if damaged is set. j.mu is held.
func (j *Journal) replaceable(kind, id string, damaged bool) error {
	err := j.free(kind, id)
	if damaged && errors.As(err, new(*DamagedError)) {
		return nil
	}
	return err
}

// discard is Discard, or DiscardDamaged if damaged is set.
func (j *Journal) discard(ctx context.Context, kind, id string, damaged bool) error {
	if _, err := j.Get(kind, id); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	path := j.Path(kind, id)
	err := j.change(ctx, func() error {
		if err := j.replaceable(kind, id, damaged); err != nil {
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
