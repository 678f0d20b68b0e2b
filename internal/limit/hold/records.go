package hold

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"plimsoll/internal/state/journal"
)

// records are the entries of one kind in the machine's journal. They belong to no process, because a command sets a
// limit and ends.
//
// All Plimsolls of a machine share the machine's folder, as they share the kernel's root group and its disks. The
// folder need not outlive a boot, because the kernel's limits don't.
type records[T any] struct {
	journal *journal.Journal
	kind    string
	// id returns the id of an entry.
	id func(T) string
}

// list returns the records, by id. The error joins a journal.DamagedError for each one that can't be read; list returns
// the others.
func (r records[T]) list() ([]T, error) {
	entries, err := r.journal.Entries(r.kind)
	if _, other := journal.Damaged(err); other != nil {
		return nil, err
	}
	var all []T
	for _, e := range entries {
		var x T
		if bad := json.Unmarshal(e.Payload, &x); bad != nil {
			err = errors.Join(err, &journal.DamagedError{Path: r.journal.Path(e.Kind, e.ID), ID: e.ID, Err: bad})
			continue
		}
		all = append(all, x)
	}
	return all, err
}

// keep writes one record.
func (r records[T]) keep(ctx context.Context, x T) error {
	return r.journal.Keep(ctx, r.kind, r.id(x), x)
}

// change calls f with the list of records, which f may change, and then writes the differences. No other process
// changes the records in the meantime. A record that f writes by keep survives a kill. The list is written even if f
// returns an error. Damaged records stay, and are not in the list.
func (r records[T]) change(ctx context.Context, f func(*[]T) error) error {
	return r.journal.Alone(ctx, r.kind, func() error {
		all, err := r.list()
		if _, other := journal.Damaged(err); other != nil {
			return other
		}
		err = f(&all)
		// An interrupt ends the change, but its records must still be written.
		return errors.Join(err, r.record(context.WithoutCancel(ctx), all))
	})
}

// record makes the journal's entries equal to a list.
func (r records[T]) record(ctx context.Context, all []T) error {
	entries, err := r.journal.Entries(r.kind)
	if _, other := journal.Damaged(err); other != nil {
		return other
	}
	had := map[string]json.RawMessage{}
	for _, e := range entries {
		if json.Unmarshal(e.Payload, new(T)) != nil {
			continue // It is damaged.
		}
		had[e.ID] = e.Payload
	}
	var errs []error
	for _, x := range all {
		id := r.id(x)
		if b, err := json.Marshal(x); err != nil || !bytes.Equal(b, had[id]) {
			errs = append(errs, r.keep(ctx, x))
		}
		delete(had, id)
	}
	for _, id := range slices.Sorted(maps.Keys(had)) {
		errs = append(errs, r.journal.Discard(ctx, r.kind, id))
	}
	return errors.Join(errs...)
}
