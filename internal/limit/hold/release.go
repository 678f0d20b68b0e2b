package hold

import (
	"errors"
	"fmt"
	"slices"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
)

// remove removes limits from the root group, or with dry plans that. A daemon's limit gives way to the value before it.
// Limits that another program has set instead stay. back restores what was removed.
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
	if err != nil {
		return nil, back, err
	}
	for _, n := range list {
		if n.Volume != "" {
			if err := w.removeOwn(n, dry); err != nil {
				return nil, back, err
			}
			continue
		}
		if root == nil {
			continue
		}
		was := now[n.Device]
		keys, notes := n.removable(was)
		if len(keys) == 0 && len(notes) == 0 {
			continue
		}
		restored := to(keys, n.before())
		d := Done{GroupSet: n.groupSet(root), Restored: restored.Set, Notes: notes}
		want := cgroup.Want{Change: restored, Devices: []device.Number{n.Device}}
		if d.Diff, err = w.groups.Plan(root, want); err == nil && !dry {
			d.Writes, err = d.Diff.Apply()
		}
		if err != nil {
			return nil, back, errors.Join(fmt.Errorf("%s: %w", d.GroupSet.Name, err), back())
		}
		undo = append(undo, func() error {
			diff, err := w.groups.Plan(root, cgroup.Want{Change: to(keys, was), Devices: want.Devices})
			if err == nil {
				_, err = diff.Apply()
			}
			return err
		})
		done = append(done, d)
	}
	return done, back, nil
}

// to returns the change that gives some keys the values of l.
func to(keys []limit.Key, l limit.Limits) (c limit.Change) {
	for _, k := range keys {
		if c.Set = c.Set.With(k, l); !l.Has(k) {
			c.Remove = append(c.Remove, k)
		}
	}
	return c
}

// groupSet returns the root group as far as n is concerned.
func (n DeviceLimit) groupSet(root *cgroup.Target) GroupSet {
	return GroupSet{Name: fmt.Sprintf("the root group, for %s (%s)", n.Disk, n.Device), Groups: root, DeviceWide: true, For: n.For}
}

// removable returns the limits of n that the kernel still has; now is what it has. notes say which were changed by
// another program.
func (n DeviceLimit) removable(now limit.Limits) (keys []limit.Key, notes []string) {
	before := n.before()
	for _, k := range n.keys() {
		switch text := now.Text(k); {
		case n.has(k, text):
			if now.Has(k) || before.Has(k) {
				keys = append(keys, k)
			}
		case now.Has(k):
			notes = append(notes, fmt.Sprintf("%s=%s on %s is not the value that was set for %s: another program set it, so it stays", k, text, n.Disk, n.For))
		}
	}
	return keys, notes
}

// without removes keys from the record of n's device and owner.
func without(all []DeviceLimit, n DeviceLimit, keys []limit.Key) []DeviceLimit {
	all = slices.Clone(all)
	for i := range all {
		if all[i].For == n.For && all[i].Device == n.Device {
			all[i] = all[i].less(keys)
		}
	}
	return slices.DeleteFunc(all, DeviceLimit.IsZero)
}
