package hold

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// list returns the records, by id.
func (r records[T]) list() ([]T, error) {
	entries, err := r.journal.Entries(r.kind)
	if err != nil {
		return nil, err
	}
	var all []T
	for _, e := range entries {
		var x T
		if err := json.Unmarshal(e.Payload, &x); err != nil {
			return nil, fmt.Errorf("the record of %s %s: %w", e.Kind, e.ID, err)
		}
		all = append(all, x)
	}
	return all, nil
}

// keep writes one record.
func (r records[T]) keep(ctx context.Context, x T) error {
	return r.journal.Keep(ctx, r.kind, r.id(x), x)
}

// change calls f with the list of records, which f may change, and then writes the differences. No other process
// changes the records in the meantime. A record that f writes by keep survives a kill. The list is written even if f
// returns an error.
func (r records[T]) change(ctx context.Context, f func(*[]T) error) error {
	return r.journal.Alone(ctx, r.kind, func() error {
		all, err := r.list()
		if err != nil {
			return err
		}
		err = f(&all)
		// An interrupt ends the change, but its records must still be written.
		return errors.Join(err, r.record(context.WithoutCancel(ctx), all))
	})
}

// record makes the journal's entries equal to a list.
func (r records[T]) record(ctx context.Context, all []T) error {
	entries, err := r.journal.Entries(r.kind)
	if err != nil {
		return err
	}
	had := map[string]json.RawMessage{}
	for _, e := range entries {
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
