package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/text/refusal"
)

// A wide is a device-wide limit: a limit in the root group of version 1, which does the writeback of the containers' page
// cache, so it applies to all users of the device. It is in force for a trial, and a sweep removes it if plimsoll was killed
// meanwhile.
type wide struct {
	wides  *hold.Wides
	device explain.Spot
	// limits are the sums over all who asked.
	limits limit.Limits
	// owner names the session of the first, and held is what is recorded for it.
	owner string
	held  hold.Wide
}

// wides are the device-wide limits of the machine; nil where there can be none. Version 2 has none, and needs none: it
// charges buffered writes to who wrote them. A device that has an owner is left alone.
func (g *ground) wides() (*hold.Wides, error) {
	all := hold.NewWides(g.fs, g.groups, g.machine)
	for _, d := range g.where.Hard {
		if err := all.Free(d); errors.Is(err, cgroup.ErrUnsupported) {
			return nil, nil
		} else if err != nil {
			return nil, g.noWide(d, err)
		}
	}
	return all, nil
}

// noWide is the answer to a device-wide limit that can't be set.
func (g *ground) noWide(d explain.Spot, err error) error {
	var taken *refusal.Error
	if errors.As(err, &taken) {
		return g.io.No(RateKeys(g.io.Asked), taken.Why, taken.Fix+", or leave out device_wide")
	}
	return fmt.Errorf("limit %s for all its users: %w", d.Name, err)
}

// holdWide sets the limits of devices for those grounds that ask for them.
func holdWide(ctx context.Context, grounds []*ground) (all []*wide, err error) {
	var first []*ground
	for _, g := range grounds {
		if !g.io.Asked.DeviceWide {
			continue
		}
		for _, d := range g.where.Hard {
			i := slices.IndexFunc(all, func(w *wide) bool { return w.device.Number() == d.Number() })
			if i < 0 {
				wides, err := g.wides()
				if err != nil || wides == nil {
					return nil, err
				}
				i = len(all)
				first, all = append(first, g), append(all, &wide{wides: wides, device: d, owner: "plimsoll run (" + g.io.ID + ")"})
			}
			for _, k := range RateKeys(g.io.Asked) {
				all[i].add(k, g.io.Asked)
			}
		}
	}
	for i, w := range all {
		if w.held, err = w.wides.Hold(ctx, w.owner, w.device, w.limits); err != nil {
			return all[:i], first[i].noWide(w.device, err)
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

// release removes the limit, also after an interrupt.
func (w *wide) release() error {
	if err := w.wides.Release(context.Background(), w.held); err != nil {
		return fmt.Errorf("restore the limit of %s for all its users: %w", w.device.Name, err)
	}
	return nil
}

// applied is the limit as records have it.
func (w *wide) applied() (list []limit.Applied) {
	for _, k := range RateKeys(w.limits) {
		list = append(list, limit.Applied{Key: k, Value: w.limits.Number(k), Device: w.device.Name, Number: w.device.Number().String(), By: limit.ByDevice, Group: "/"})
	}
	return list
}
