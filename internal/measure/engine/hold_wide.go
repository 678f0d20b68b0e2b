package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
)

// A wide is a device-wide limit: a limit in the root group of version 1, which does the writeback of the containers' page
// cache, so it applies to all users of the device. It is in force for a trial, and a sweep removes it if plimsoll was killed
// meanwhile. It is noted beside the limits that plimsoll limit sets there, which may come or go during the trial.
type wide struct {
	notes  *hold.Wides
	device explain.Spot
	// limits are the sums over all who asked.
	limits  limit.Limits
	journal Journal
	// id is that of its entry in the journal, and loan what it has there.
	id   string
	loan hold.Wide
}

// wideKind is the kind of a device-wide limit's entry in the journal.
const wideKind = "trial-device-limit"

// noteWides are the notes of limits in the root group, in the state directory that a journal is of.
func (j Journal) noteWides(fs device.FS, groups *cgroup.Host) *hold.Wides {
	return hold.NewWides(fs, groups, j.state)
}

// notes are those of the root group, which is told of a device's own limit; nil for none. Version 2 has none, and needs none: it
// charges buffered writes to who wrote them. A device that has a limit there already is somebody else's, and is left alone.
func (g *ground) notes() (*hold.Wides, error) {
	notes := g.io.Journal.noteWides(g.fs, g.groups)
	for _, d := range g.where.Hard {
		err := notes.Free(d)
		var taken *hold.TakenError
		switch {
		case errors.Is(err, cgroup.ErrUnsupported):
			return nil, nil
		case errors.As(err, &taken):
			return nil, g.io.No(RateKeys(g.io.Asked), taken.Error(), "remove it first, or leave out device_wide")
		case err != nil:
			return nil, fmt.Errorf("limit %s for all its users: %w", d.Name, err)
		}
	}
	return notes, nil
}

// holdWide sets the limits of devices for those grounds that ask for them.
func holdWide(ctx context.Context, grounds []*ground) (all []*wide, err error) {
	for _, g := range grounds {
		if !g.io.Asked.DeviceWide {
			continue
		}
		for _, d := range g.where.Hard {
			i := slices.IndexFunc(all, func(w *wide) bool { return w.device.Number() == d.Number() })
			if i < 0 {
				notes, err := g.notes()
				if err != nil || notes == nil {
					return nil, err
				}
				i = len(all)
				all = append(all, &wide{notes: notes, device: d, journal: g.io.Journal, id: fmt.Sprintf("%s-%d", g.io.ID, i)})
			}
			for _, k := range RateKeys(g.io.Asked) {
				all[i].add(k, g.io.Asked)
			}
		}
	}
	for i, w := range all {
		if err := w.hold(ctx); err != nil {
			return all[:i], err
		}
	}
	return all, nil
}

// add adds what one more client may do.
func (w *wide) add(k limit.Key, l limit.Limits) {
	for _, f := range []struct {
		key limit.Key
		to  *int64
		n   int64
	}{
		{limit.ReadBPS, &w.limits.ReadBPS, l.ReadBPS}, {limit.WriteBPS, &w.limits.WriteBPS, l.WriteBPS},
		{limit.ReadIOPS, &w.limits.ReadIOPS, l.ReadIOPS}, {limit.WriteIOPS, &w.limits.WriteIOPS, l.WriteIOPS},
	} {
		if f.key == k {
			*f.to += f.n
		}
	}
}

// hold notes the limit and then sets it.
func (w *wide) hold(ctx context.Context) error {
	w.loan = w.notes.Loan("plimsoll run ("+w.id+")", w.device, w.limits)
	if err := w.journal.Put(ctx, wideKind, w.id, w.loan); err != nil {
		return err
	}
	if err := w.notes.Lend(ctx, w.loan); err != nil {
		return errors.Join(fmt.Errorf("limit %s for all its users: %w", w.device.Name, err), w.journal.Remove(wideKind, w.id))
	}
	return nil
}

// release removes the limit and its note, also after an interrupt.
func (w *wide) release() error {
	if err := w.notes.Return(context.Background(), w.loan); err != nil {
		return fmt.Errorf("restore the limit of %s for all its users: %w", w.device.Name, err)
	}
	return w.journal.Remove(wideKind, w.id)
}

// applied is the limit as records have it.
func (w *wide) applied() (list []limit.Applied) {
	for _, k := range RateKeys(w.limits) {
		list = append(list, limit.Applied{Key: k, Value: w.limits.Number(k), Device: w.device.Name, Number: w.device.Number().String(), By: limit.ByDevice, Group: "/"})
	}
	return list
}

// returnWide removes what a killed plimsoll left in the root group of this machine.
func (j Journal) returnWide(ctx context.Context, w hold.Wide) error {
	groups, err := cgroup.Open(device.Host())
	if err != nil {
		return nil // There are no groups any more, and no limits.
	}
	if _, err := groups.Device(); err != nil {
		return nil
	}
	return j.noteWides(device.Host(), groups).Return(ctx, w)
}
