package hold

import (
	"errors"
	"fmt"
	"slices"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
)

// release takes what is in mine out of the root group, for the target that each is for. all is what is noted, and after what is noted then.
// back puts it back.
func (w *Wides) release(all, after, mine []Wide, dry bool) (done []Done, back func() error, err error) {
	var undo []func() error
	back = func() error {
		var errs []error
		for _, f := range slices.Backward(undo) {
			errs = append(errs, f())
		}
		return errors.Join(errs...)
	}
	if len(mine) == 0 {
		return nil, back, nil
	}
	root, now, err := w.now()
	if err != nil || root == nil {
		return nil, back, err
	}
	for _, n := range mine {
		was := now[n.Device]
		c, notes := released(n, was, all, after)
		if len(keysOf(c.Set)) == 0 && len(c.Remove) == 0 && len(notes) == 0 {
			continue
		}
		d := Done{Part: Part{Name: fmt.Sprintf("the root group, for %s (%s)", n.Disk, n.Device), Groups: root, DeviceWide: true, For: n.For}, Notes: notes}
		want := cgroup.Want{Change: c, Devices: []device.Number{n.Device}}
		if d.Diff, err = w.groups.Plan(root, want); err == nil && !dry {
			d.Writes, err = d.Diff.Apply()
		}
		if err != nil {
			return nil, back, errors.Join(fmt.Errorf("%s: %w", d.Part.Name, err), back())
		}
		undo = append(undo, func() error {
			before := limit.Change{}
			for _, k := range append(keysOf(c.Set), c.Remove...) {
				before.Set = before.Set.With(k, was)
			}
			diff, err := w.groups.Plan(root, cgroup.Want{Change: before, Devices: want.Devices})
			if err == nil {
				_, err = diff.Apply()
			}
			return err
		})
		done = append(done, d)
	}
	return done, back, nil
}

// last is the note of a key on a device that was made last, of those that count; nil if there is none.
func last(all []Wide, d device.Number, k limit.Key, counts func(Wide) bool) *Wide {
	for i := range slices.Backward(all) {
		if o := &all[i]; o.Device == d && o.Limits.Has(k) && counts(*o) {
			return o
		}
	}
	return nil
}

// released is what becomes of a disk's rates in the root group when n goes, which is one of all. now is what the kernel has, and after
// what is noted when all have gone that go with it: none of those comes back.
func released(n Wide, now limit.Limits, all, after []Wide) (c limit.Change, notes []string) {
	for _, k := range keysOf(n.Limits) {
		text := now.Text(k)
		// One that was noted last and never set, as plimsoll was killed, is not in force.
		is := last(all, n.Device, k, func(o Wide) bool { return o.has(k, text) })
		rest := Last(slices.DeleteFunc(slices.Clone(after), func(o Wide) bool { return o.For == n.For }), n.Device, k)
		switch {
		case !now.Has(k):
		case is == nil:
			notes = append(notes, fmt.Sprintf("%s=%s on %s is not the value that was set for %s: another program set it, so it stays", k, text, n.Disk, n.For))
		case is.For != n.For:
			if stays := last(after, n.Device, k, func(o Wide) bool { return o.For == is.For }); stays != nil {
				notes = append(notes, fmt.Sprintf("%s=%s on %s stays: it is for %s", k, text, n.Disk, is.For))
			}
		case rest != nil:
			c.Set = c.Set.With(k, rest.Limits)
			notes = append(notes, fmt.Sprintf("%s=%s on %s is in force again: it is for %s", k, rest.Limits.Text(k), n.Disk, rest.For))
		default:
			c.Remove = append(c.Remove, k)
		}
	}
	return c, notes
}

// only is n with the rates of some keys alone.
func (n Wide) only(keys []limit.Key) Wide {
	for _, k := range keysOf(n.Limits) {
		if !slices.Contains(keys, k) {
			n.Limits = n.Limits.Without(k)
		}
	}
	return n
}

// without takes keys out of what is noted for n's target on its disk.
func without(all []Wide, n Wide, keys []limit.Key) []Wide {
	for i := range all {
		if all[i].For == n.For && all[i].Device == n.Device {
			all[i].Limits = all[i].Limits.Without(keys...)
		}
	}
	return slices.DeleteFunc(all, func(o Wide) bool { return o.Limits.IsZero() })
}

// keysOf lists what l bounds.
func keysOf(l limit.Limits) (keys []limit.Key) {
	for _, k := range limit.Keys {
		if l.Has(k) {
			keys = append(keys, k)
		}
	}
	return keys
}
