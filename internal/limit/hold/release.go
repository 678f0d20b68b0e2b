package hold

import (
	"errors"
	"fmt"
	"slices"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
)

// remove removes limits from the root group, or with dry plans that. Limits that another program has set instead stay.
// back restores what was removed.
func (w *DeviceLimits) remove(list []DeviceLimit, dry bool) (done []Done, back func() error, err error) {
	var undo []func() error
	back = func() error {
		var errs []error
		for _, f := range slices.Backward(undo) {
			errs = append(errs, f())
		}
		return errors.Join(errs...)
	}
	if len(list) == 0 {
		return nil, back, nil
	}
	root, now, err := w.now()
	if err != nil || root == nil {
		return nil, back, err
	}
	for _, n := range list {
		was := now[n.Device]
		keys, notes := n.removable(was)
		if len(keys) == 0 && len(notes) == 0 {
			continue
		}
		d := Done{GroupSet: n.groupSet(root), Notes: notes}
		want := cgroup.Want{Change: limit.Change{Remove: keys}, Devices: []device.Number{n.Device}}
		if d.Diff, err = w.groups.Plan(root, want); err == nil && !dry {
			d.Writes, err = d.Diff.Apply()
		}
		if err != nil {
			return nil, back, errors.Join(fmt.Errorf("%s: %w", d.GroupSet.Name, err), back())
		}
		undo = append(undo, func() error {
			before := limit.Change{}
			for _, k := range keys {
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

// groupSet returns the root group as far as n is concerned.
func (n DeviceLimit) groupSet(root *cgroup.Target) GroupSet {
	return GroupSet{Name: fmt.Sprintf("the root group, for %s (%s)", n.Disk, n.Device), Groups: root, DeviceWide: true, For: n.For}
}

// removable returns the rates of n that the kernel still has; now is what it has. notes say which were changed by
// another program.
func (n DeviceLimit) removable(now limit.Limits) (keys []limit.Key, notes []string) {
	for _, k := range n.Limits.Keys() {
		switch text := now.Text(k); {
		case !now.Has(k):
		case n.has(k, text):
			keys = append(keys, k)
		default:
			notes = append(notes, fmt.Sprintf("%s=%s on %s is not the value that was set for %s: another program set it, so it stays", k, text, n.Disk, n.For))
		}
	}
	return keys, notes
}

// only returns n with only the rates of some keys.
func (n DeviceLimit) only(keys []limit.Key) DeviceLimit {
	for _, k := range n.Limits.Keys() {
		if !slices.Contains(keys, k) {
			n.Limits = n.Limits.Without(k)
		}
	}
	return n
}

// without removes keys from the record of n's device and owner.
func without(all []DeviceLimit, n DeviceLimit, keys []limit.Key) []DeviceLimit {
	all = slices.Clone(all)
	for i := range all {
		if all[i].For == n.For && all[i].Device == n.Device {
			all[i].Limits = all[i].Limits.Without(keys...)
		}
	}
	return slices.DeleteFunc(all, func(o DeviceLimit) bool { return o.Limits.IsZero() })
}
