package hold

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/state/journal"
)

// parse returns the record in an entry, or why it is damaged.
func (w *DeviceLimits) parse(e journal.Entry) (n DeviceLimit, bad *journal.DamagedError) {
	err := json.Unmarshal(e.Payload, &n)
	if err == nil && n.Daemon != "" && slices.ContainsFunc(n.Limits.Keys(), func(k limit.Key) bool { return n.rule(k) == nil }) {
		err = errors.New("it is not a record of a daemon of this version")
	}
	// A record without these says neither whose limit the kernel has nor until when.
	if err == nil && (n.Device.String() != e.ID || n.For == "" || n.Boot == "" && w.boot != "" || n.IsZero()) {
		err = errors.New("it is not a record of that device's limits")
	}
	if err != nil {
		return n, &journal.DamagedError{Path: w.journal.Path(e.Kind, e.ID), ID: e.ID, Err: err}
	}
	if len(n.ForBytes) > 0 {
		n.For = string(n.ForBytes)
	}
	return n, nil
}

// damaged are records that can't be read.
type damaged []*journal.DamagedError

// err joins them, nil if there are none.
func (all damaged) err() error {
	var errs []error
	for _, d := range all {
		errs = append(errs, d)
	}
	return errors.Join(errs...)
}

// of returns the error of a device whose record is damaged: its owner is unknown, so it gets no other.
func (all damaged) of(d device.Number) error {
	for _, bad := range all {
		if bad.ID == d.String() {
			return bad
		}
	}
	return nil
}

// discardDamaged removes the damaged records of a scope's devices, after r was made, where the root group has no limit
// any more. It returns a sentence for each damaged record. With dry it removes nothing.
func (w *DeviceLimits) discardDamaged(ctx context.Context, s *Scope, r limit.Change, records damaged, dry bool) (told []string) {
	if !s.HasRootGroup() || len(r.Remove) == 0 {
		return nil
	}
	for _, d := range s.Devices() {
		n := d.Number
		if records.of(n) == nil {
			continue
		}
		path := w.journal.Path(deviceLimitKind, n.String())
		_, now, err := w.now()
		switch left := now[n].Without(r.Remove...); {
		case err != nil:
			told = append(told, fmt.Sprintf("the record %s can't be read and stays: %v", path, err))
		case !left.IsZero():
			told = append(told, fmt.Sprintf("the record %s can't be read and stays, because the root group still has %s on %s", path, left, d.Name))
		case dry:
			told = append(told, fmt.Sprintf("the record %s can't be read, and would be discarded", path))
		default:
			if err := w.journal.DiscardDamaged(context.WithoutCancel(ctx), deviceLimitKind, n.String()); err != nil {
				told = append(told, fmt.Sprintf("the record %s can't be read, and can't be discarded: %v", path, err))
				continue
			}
			told = append(told, fmt.Sprintf("the record %s could not be read, and was discarded", path))
		}
	}
	return told
}

// discardGone removes the damaged records whose device is gone, and its limit with it. No target has such a device, so no
// limit clear could name it. It returns what it has removed, and an error for the records that stay.
func (w *DeviceLimits) discardGone(ctx context.Context, all damaged) (removed []string, err error) {
	for _, d := range all {
		n, bad := device.ParseNumber(d.ID)
		if bad == nil {
			_, bad = mediumOf(w.fs, n)
		}
		if !errors.Is(bad, fs.ErrNotExist) {
			err = errors.Join(err, d)
			continue
		}
		if bad := w.journal.DiscardDamaged(ctx, deviceLimitKind, d.ID); bad != nil {
			err = errors.Join(err, bad)
			continue
		}
		removed = append(removed, fmt.Sprintf("the damaged record %s: %s", d.Path, endedWithDevice))
	}
	return removed, err
}
