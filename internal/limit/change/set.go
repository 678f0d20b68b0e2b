package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/engineapi"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/text/refusal"
)

// Auto chooses whichever method can divide a disk by weight.
const Auto = "auto"

// asksIO reports whether ask has a limit on I/O, which needs a device.
func asksIO(ask limit.Ask) bool {
	return ask.Limits.IO() || ask.Limits.Has(limit.Weight) || ask.Limits.Has(limit.Latency) || len(ask.Percent) > 0 ||
		slices.ContainsFunc(ask.Remove, limit.Key.IO)
}

// refusedThere replaces err, which says that a target's daemon is elsewhere, by the message of that daemon, which
// refuses a change.
func refusedThere(err error, set limit.Limits) error {
	var there *refusal.Error
	if errors.As(err, &there) {
		if refused := engineapi.Refused(there.OS, set); refused != nil {
			return fmt.Errorf("%s: %w", there.What, refused)
		}
	}
	return err
}

// Set sets the limits in ask. resolve converts percentages to numbers.
func (m *Maker) Set(ctx context.Context, ref target.Ref, ask limit.Ask, resolve func(limit.Ask, *hold.Scope) (limit.Change, error), how Options) (*Result, error) {
	s, err := m.Scope(ctx, ref, how.Where, asksIO(ask))
	if err != nil {
		return nil, refusedThere(err, ask.Limits)
	}
	change, err := resolve(ask, s)
	if err != nil {
		return nil, err
	}
	apply := m.Apply
	switch {
	case how.Dry:
		apply = m.Plan
	case how.Keep:
		apply = m.Keep
	case how.Enable != "":
		apply = m.enabling(how.Enable)
	}
	if slices.Contains(change.Remove, limit.Weight) && !how.Dry {
		apply = m.disabling(apply)
	}
	if !how.Dry {
		apply = m.noting(apply)
	}
	if change.Set.IO() {
		if err := hold.Empty(m.FS, s.Devices()); err != nil {
			return nil, err
		}
	}
	r, err := m.change(ctx, m.withDeviceLimits(apply, how.Dry), s, change, how)
	if how.Keep {
		err = m.keepInstead(err, s, change, how)
	}
	var fault *cgroup.Fault
	if errors.As(err, &fault) && how.Enable == "" && slices.Contains(fault.Keys, limit.Weight) && strings.HasPrefix(fault.Fix, "echo ") {
		// The message names the file to write; the flag writes it.
		err = fmt.Errorf("%w; --enable-weights does that, for all users of the disk, and limit clear undoes it", err)
	}
	return r, err
}

// enabling makes disks divide by weight before the weight is set, and restores them if that fails.
func (m *Maker) enabling(by string) applier {
	if by == Auto {
		by = ""
	}
	return func(ctx context.Context, s *hold.Scope, change limit.Change) ([]hold.Done, error) {
		w := m.Weights(m.Machine)
		on, undo, err := w.Enable(ctx, s, by)
		if err != nil {
			return nil, err
		}
		done, err := m.Apply(ctx, s, change)
		if err != nil {
			return nil, errors.Join(err, undo(context.WithoutCancel(ctx)))
		}
		for _, e := range on {
			s.Notes = append(s.Notes, e.String()+", for all its users; plimsoll limit clear restores the earlier setting")
		}
		return done, nil
	}
}

// noting makes a change, and records for limit show what was set. If the record fails, the limits are set all the same.
func (m *Maker) noting(apply applier) applier {
	return func(ctx context.Context, s *hold.Scope, change limit.Change) ([]hold.Done, error) {
		done, err := apply(ctx, s, change)
		if err != nil {
			return done, err
		}
		if bad := m.Settings(m.Machine).Note(context.WithoutCancel(ctx), s, change); bad != nil && !change.Set.IsZero() {
			s.Notes = append(s.Notes, fmt.Sprintf("plimsoll limit show won't know who set it: %v", bad))
		}
		return done, nil
	}
}

// disabling makes a change, and restores disks that were divided by a weight that it has removed.
func (m *Maker) disabling(apply applier) applier {
	return func(ctx context.Context, s *hold.Scope, change limit.Change) ([]hold.Done, error) {
		done, err := apply(ctx, s, change)
		if err != nil || !change.Touches(limit.Weight) {
			return done, err
		}
		off, err := m.Weights(m.Machine).Undo(ctx, s)
		for _, e := range off {
			s.Notes = append(s.Notes, fmt.Sprintf("%s is not divided by weight any more: %s has its old value again", e.Disk, e.Edits[0].File))
		}
		damaged, err := journal.Damaged(err)
		for _, d := range damaged {
			s.Notes = append(s.Notes, fmt.Sprintf("it is not known whether limit set made %s divide by weight: %v", d.ID, d))
		}
		return done, err
	}
}
