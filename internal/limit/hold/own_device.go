package hold

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/procfs"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/state/journal"
)

// A Volume is a volume of Plimsoll as the owner of its device's limits.
type Volume struct {
	Name string
	// Folder identifies it among the volumes of all state folders.
	Folder string
}

// String names the owner in records.
func (v Volume) String() string { return "plimsoll volume " + v.Name }

// DevicesOf returns the limits of devices that are recorded in the machine's folder. The error wraps errors.ErrUnsupported on a
// system without control groups.
func DevicesOf(fs device.FS, machine string) (*DeviceLimits, error) {
	groups, err := cgroup.Open(fs)
	if err != nil {
		return nil, err
	}
	return newDeviceLimits(fs, groups, machine), nil
}

// SetVolume gives a volume's own device these rates, and no others of an earlier call, in the groups of cgroup.Host.Everyone for the
// processes of containers that have it mounted. Each of these groups has the rates for itself. They stay until ClearVolume, and are recorded first. A group's stricter limit that
// another program has set stays. The caller must keep the device attached meanwhile: its number would go to another device. groups
// is how many groups have the rates now; with version 2 it is none while none has the io controller. The error is a refusal if the device
// has another owner.
func (w *DeviceLimits) SetVolume(ctx context.Context, v Volume, d explain.Spot, rates limit.Limits) (groups int, err error) {
	now, err := w.Glance()
	if err != nil {
		return 0, err
	}
	if groups, err = now.kept(v, d, rates); groups >= 0 || err != nil {
		return groups, err
	}
	err = w.while(ctx, func(has recorded) error {
		if err := w.clear(ctx, has, func(n DeviceLimit) bool {
			return n.Volume == v.Folder && n.Device != d.Number || n.Device == d.Number && n.left()
		}); err != nil {
			return err
		}
		n, err := w.ofVolume(has, v, d)
		if err != nil {
			return err
		}
		before := n
		if n.Limits, n.Prior = rates, before.Limits; n.IsZero() {
			return nil
		}
		if err := w.keep(ctx, n); err != nil {
			return err
		}
		// After an error the record stays, and with it what may have been written.
		if groups, err = w.put(n, rates, before.has); err != nil {
			return err
		}
		n.Prior, n.Lowered = limit.Limits{}, nil
		return w.keep(ctx, n)
	})
	return groups, err
}

// ofVolume returns the record of a volume's device, which may be a new one. The error is a refusal if the device has another owner.
func (w *DeviceLimits) ofVolume(has recorded, v Volume, d explain.Spot) (DeviceLimit, error) {
	if err := has.damaged.of(d.Number); err != nil {
		return DeviceLimit{}, err
	}
	if before := on(has.all, d.Number); before != nil && !before.left() {
		if before.Volume != v.Folder {
			return *before, before.taken()
		}
		return *before, nil
	}
	n := w.recordOf(v.String(), d, limit.Limits{})
	n.Volume = v.Folder
	return n, nil
}

// A Glance is what the kernel and the records have at a moment.
type Glance struct {
	limits  *DeviceLimits
	records []DeviceLimit
	users   users
}

// Glance looks at the limits of volumes.
func (w *DeviceLimits) Glance() (g Glance, err error) {
	has, err := w.look()
	if err != nil {
		return g, err
	}
	return Glance{w, has.all, lookForUsers(w.fs)}, nil
}

// Kept reports whether SetVolume has nothing to do.
func (g Glance) Kept(v Volume, d explain.Spot, rates limit.Limits) (bool, error) {
	n, err := g.kept(v, d, rates)
	return n >= 0, err
}

// kept returns in how many groups the rates are in force; -1 if something is to be done.
func (g Glance) kept(v Volume, d explain.Spot, rates limit.Limits) (groups int, err error) {
	if slices.ContainsFunc(g.records, func(n DeviceLimit) bool { return n.Volume == v.Folder && n.Device != d.Number }) {
		return -1, nil
	}
	n := on(g.records, d.Number)
	if n == nil && rates.IsZero() {
		return 0, nil
	}
	if n == nil || n.Volume != v.Folder || n.left() || n.Limits != rates || !n.Prior.IsZero() || n.Lowered != nil {
		return -1, nil
	}
	all, err := g.limits.using(d.Number, g.users)
	for _, p := range all {
		has := p.devices[d.Number]
		if slices.ContainsFunc(rates.Keys(), func(k limit.Key) bool { return rates.Below(k, has) }) {
			return -1, err
		}
	}
	return len(all), err
}

// put writes rates of a record's device to all groups, and removes the record's other rates. It leaves what isn't mine: other rates that are
// stricter, and rates of other keys. It returns the number of groups.
func (w *DeviceLimits) put(n DeviceLimit, rates limit.Limits, mine func(k limit.Key, text string) bool) (groups int, err error) {
	all, err := w.using(n.Device, lookForUsers(w.fs))
	if err != nil {
		return 0, err
	}
	for _, p := range all {
		has := p.devices[n.Device]
		keys := slices.DeleteFunc(n.keys(), func(k limit.Key) bool {
			other := has.Has(k) && !mine(k, has.Text(k))
			return other && !rates.Below(k, has)
		})
		if err := w.write(p, to(keys, rates), n.Device); err != nil {
			return groups, err
		}
		groups++
	}
	return groups, nil
}

// write makes a change in one group. A group that is gone is no error.
func (w *DeviceLimits) write(p present, c limit.Change, d device.Number) error {
	if len(c.Remove) == 0 && c.Set.IsZero() {
		return nil
	}
	_, err := w.groups.Hold(p.group, cgroup.Want{Change: c, Devices: []device.Number{d}})
	if errors.Is(err, cgroup.ErrGone) {
		return nil
	}
	return err
}

// removeOwn removes the limits of a volume's device from all groups. Limits that other programs have set stay.
func (w *DeviceLimits) removeOwn(n DeviceLimit, dry bool) error {
	if dry {
		return nil
	}
	all, err := w.anyone()
	for _, p := range all {
		keys, _ := n.removable(p.devices[n.Device])
		err = errors.Join(err, w.write(p, limit.Change{Remove: keys}, n.Device))
	}
	return err
}

// keep records a volume's limits, or discards the record if there are none.
func (w *DeviceLimits) keep(ctx context.Context, n DeviceLimit) error {
	ctx = context.WithoutCancel(ctx) // An interrupt ends the change, but its record must still be written.
	if n.IsZero() {
		return w.journal.Discard(ctx, deviceLimitKind, n.Device.String())
	}
	return w.journal.Keep(ctx, deviceLimitKind, n.Device.String(), n)
}

// clear removes limits of volumes, and of former devices, and then their records.
func (w *DeviceLimits) clear(ctx context.Context, has recorded, which func(DeviceLimit) bool) error {
	for _, n := range has.all {
		if n.Volume == "" && !n.left() || !which(n) {
			continue
		}
		if _, _, err := w.remove([]DeviceLimit{n}, false); err != nil {
			return err
		}
		if err := w.journal.Discard(context.WithoutCancel(ctx), deviceLimitKind, n.Device.String()); err != nil {
			return err
		}
	}
	return nil
}

// ClearVolume removes all limits of a volume's device. Call it while the device is still attached.
func (w *DeviceLimits) ClearVolume(ctx context.Context, v Volume) error {
	mine := func(n DeviceLimit) bool { return n.Volume == v.Folder }
	if has, err := w.look(); err == nil && !slices.ContainsFunc(has.all, mine) {
		return nil
	}
	return w.while(ctx, func(has recorded) error { return w.clear(ctx, has, mine) })
}

// Lower lets a volume's device do fewer I/Os for a time than SetVolume allows: reads and writes a second. was is what the last Lower
// gave it, zero without one. Raise ends it; if this process is killed, SweepVolumes does. The caller must keep the device attached
// meanwhile. The error is a refusal if the device has another owner.
func (w *DeviceLimits) Lower(ctx context.Context, v Volume, d explain.Spot, was, rates limit.Limits) error {
	return w.while(ctx, func(has recorded) error {
		n, err := w.ofVolume(has, v, d)
		if err != nil {
			return err
		}
		full := n
		if self := procfs.Self(); n.Lowered == nil || *n.Lowered != self {
			n.Lowered = &self
			if err := w.keep(ctx, n); err != nil {
				return err
			}
		}
		full.Lowered = nil
		_, err = w.put(n, n.within(rates), func(k limit.Key, text string) bool {
			return full.has(k, text) || text == n.within(was).Text(k)
		})
		return err
	})
}

// within returns a record's limits with lower rates of I/Os, as the kernel takes them.
func (w DeviceLimit) within(rates limit.Limits) limit.Limits {
	l := w.Limits
	for _, k := range []limit.Key{limit.ReadIOPS, limit.WriteIOPS} {
		rate, most := l.Whole(k), w.Limits
		*rate = min(max(*rates.Whole(k), limit.MinRate), limit.MaxIOPS)
		if most.Has(k) {
			*rate = min(*rate, *most.Whole(k))
		}
	}
	return l
}

// Raise ends what Lower did to a volume: its device has the rates of SetVolume again. was is as for Lower.
func (w *DeviceLimits) Raise(ctx context.Context, v Volume, was limit.Limits) error {
	return w.while(ctx, func(has recorded) error {
		for _, n := range has.all {
			if n.Volume != v.Folder || n.Lowered == nil || n.left() {
				continue
			}
			if err := w.raise(ctx, n, func(k limit.Key, text string) bool { return text == n.within(was).Text(k) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// raise gives a lowered device its rates again.
func (w *DeviceLimits) raise(ctx context.Context, n DeviceLimit, mine func(k limit.Key, text string) bool) error {
	if _, err := w.put(n, n.Limits, mine); err != nil {
		return err
	}
	n.Lowered = nil
	return w.keep(ctx, n)
}

// SweepVolumes removes the limits of volumes whose device has gone, as its number may belong to another device. And it raises what a
// process lowered that was killed. It returns what it did.
func (w *DeviceLimits) SweepVolumes(ctx context.Context) (done []string, err error) {
	gone := func(n DeviceLimit) bool { return n.Volume != "" && n.left() }
	orphan := func(n DeviceLimit) bool { return n.Lowered != nil && !n.left() && !n.Lowered.Alive() }
	if has, err := w.look(); err == nil && !slices.ContainsFunc(has.all, gone) && !slices.ContainsFunc(has.all, orphan) {
		return nil, nil
	}
	err = w.while(ctx, func(has recorded) error {
		errs := []error{w.clear(ctx, has, gone)}
		for _, n := range has.all {
			switch {
			case gone(n):
				done = append(done, n.For+": its limit of "+n.Disk+", which it no longer has")
			case orphan(n):
				done = append(done, n.For+": it was held back for another volume")
				errs = append(errs, w.raise(ctx, n, n.has))
			}
		}
		return errors.Join(errs...)
	})
	return done, err
}

// Volumes returns the records of volumes.
func (w *DeviceLimits) Volumes() ([]DeviceLimit, error) {
	all, err := w.List()
	if _, other := journal.Damaged(err); other != nil {
		return nil, other
	}
	return slices.DeleteFunc(all, func(n DeviceLimit) bool { return n.Volume == "" }), nil
}

// lowers reports whether a key may have been lowered.
func (w DeviceLimit) lowers(k limit.Key) bool { return w.Lowered != nil && k.IOPS() }

// atMost reports whether a rate, as text, is one to which a limit may have been lowered.
func (w DeviceLimit) atMost(k limit.Key, text string) bool {
	rate, err := strconv.ParseInt(text, 10, 64)
	return err == nil && (!w.Limits.Has(k) || rate <= *w.Limits.Whole(k))
}
