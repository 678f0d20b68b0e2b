package journal

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
)

// An Undo removes the thing that a dead owner left. It returns a description of each removed thing, and must be safe to repeat.
type Undo func(context.Context, Entry) (removed []string, err error)

// Sweep undoes the entries that dead owners left of the named kinds, each once even if several processes sweep. It goes on
// after an error. An entry whose Undo fails stays as it was, and the next Sweep of any process tries again. Entries of living
// owners stay. Unreadable entries stay too, and are an error.
func (j *Journal) Sweep(ctx context.Context, kinds map[string]Undo) (removed []string, err error) {
	var errs []error
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		list, err := j.Entries(kind)
		errs = append(errs, err)
		for _, e := range list {
			if j.Alive(e) {
				continue
			}
			did, err := j.undo(ctx, e, kinds[kind])
			removed, errs = append(removed, did...), append(errs, err)
		}
	}
	return removed, errors.Join(append(errs, j.dropLocks(ctx), j.dropTemporary())...)
}

// undo undoes one thing of a dead owner. It adopts the entry for that time, so that no other sweep undoes the same thing.
func (j *Journal) undo(ctx context.Context, e Entry, undo Undo) (removed []string, err error) {
	e, err = j.adopt(ctx, e.Kind, e.ID)
	var owned *OwnedError
	if errors.As(err, &owned) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil // Another sweep was first.
	}
	if err != nil {
		return nil, err
	}
	removed, err = undo(ctx, e)
	if err != nil {
		// An ended context may be why. If the entry can't be given back, it is swept after this process's end.
		return removed, errors.Join(err, j.giveBack(context.WithoutCancel(ctx), e))
	}
	return removed, j.Remove(e.Kind, e.ID)
}
