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

// unreadable is the error of damaged records, nil if there are none.
func unreadable(damaged []*journal.DamagedError) error {
	var errs []error
	for _, d := range damaged {
		errs = append(errs, d)
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%w; the root group's files blkio.throttle.*_device show its limits, and plimsoll limit clear TARGET --device DISK --device-wide removes them", errors.Join(errs...))
}

// readable returns an error if the record of a device can't be read: its owner is unknown, so it gets no other.
func (w *DeviceLimits) readable(d device.Number) error {
	e, err := w.journal.Get(deviceLimitKind, d.String())
	var damaged *journal.DamagedError
	switch {
	case err == nil:
		_, damaged = w.parse(e)
	case errors.Is(err, fs.ErrNotExist):
	case !errors.As(err, &damaged):
		return err
	}
	if damaged == nil {
		return nil
	}
	return unreadable([]*journal.DamagedError{damaged})
}

// discardDamaged removes the damaged records of a scope's devices, after r was made, where the root group has no limit
// any more. It returns a sentence for each damaged record. With dry it removes nothing.
func (w *DeviceLimits) discardDamaged(ctx context.Context, s *Scope, r limit.Change, dry bool) (told []string) {
	if !s.HasRootGroup() || len(r.Remove) == 0 {
		return nil
	}
	for _, d := range s.Devices() {
		n := d.Number
		if bad := w.readable(n); !errors.As(bad, new(*journal.DamagedError)) {
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
func (w *DeviceLimits) discardGone(ctx context.Context, damaged []*journal.DamagedError) (removed []string, err error) {
	for _, d := range damaged {
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
