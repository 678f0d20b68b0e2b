package hold

import (
	"context"
	"errors"
	"io/fs"
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

// DevicesOf returns the limits of devices that are recorded in the machine's folder. The error wraps errors.ErrUnsupported on a
// system without control groups.
func DevicesOf(fs device.FS, machine string) (*DeviceLimits, error) {
	groups, err := cgroup.Open(fs)
	if err != nil {
		return nil, err
	}
	return newDeviceLimits(fs, groups, machine), nil
}

// SetVolume gives a volume's own device these rates, and no others of an earlier call. They hold all containers together with version
// 1, and those below each group of the root together with version 2 (cgroup.Host.Everyone). They stay until ClearVolume, and are
// recorded first. The caller must keep the device attached meanwhile: its number would go to another device. groups is how many
// groups have the rates now: none with version 2 while none has the io controller. The error is a refusal if the device has
// another owner.
func (w *DeviceLimits) SetVolume(ctx context.Context, v Volume, d explain.Spot, rates limit.Limits) (groups int, err error) {
	if n, err := w.kept(v, d, rates); n >= 0 || err != nil {
		return n, err
	}
	err = w.while(ctx, func(has recorded) error {
		if err := w.clear(ctx, has, func(n DeviceLimit) bool {
			return n.Volume == v.Folder && (n.Device != d.Number || n.left()) || n.Device == d.Number && n.left()
		}); err != nil {
			return err
		}
		if err := has.damaged.of(d.Number); err != nil {
			return err
		}
		n, before := w.recordOf("plimsoll volume "+v.Name, d, rates), on(has.all, d.Number)
		n.Volume = v.Folder
		if before != nil && !before.left() {
			if before.Volume != v.Folder {
				return before.taken()
			}
			n.Prior, n.Lowered = before.Limits, before.Lowered
		}
		if n.IsZero() {
			return nil
		}
		if err := w.keep(ctx, n); err != nil {
			return err
		}
		if groups, err = w.put(n, rates); err != nil {
			return err // The record stays, and with it what may have been written.
		}
		n.Prior, n.Lowered = limit.Limits{}, nil
		return w.keep(ctx, n)
	})
	return groups, err
}

// kept returns in how many groups the rates are in force already, and recorded; -1 if something is to be done.
func (w *DeviceLimits) kept(v Volume, d explain.Spot, rates limit.Limits) (groups int, err error) {
	has, err := w.look()
	if err != nil {
		return -1, err
	}
	n := on(has.all, d.Number)
	if slices.ContainsFunc(has.all, func(n DeviceLimit) bool {
		return n.Volume != "" && (n.left() || n.Volume == v.Folder && n.Device != d.Number)
	}) {
		return -1, nil
	}
	if rates.IsZero() && n == nil {
		return 0, nil
	}
	if n == nil || n.Volume != v.Folder || n.left() || n.Limits != rates || !n.Prior.IsZero() || n.Lowered != nil {
		return -1, nil
	}
	return w.has(*n, rates)
}

// has returns in how many groups a device has rates; -1 if one differs.
func (w *DeviceLimits) has(n DeviceLimit, rates limit.Limits) (groups int, err error) {
	all, err := w.presents()
	for _, p := range all {
		if slices.ContainsFunc(rates.Keys(), func(k limit.Key) bool { return p.devices[n.Device].Text(k) != rates.Text(k) }) {
			return -1, err
		}
	}
	return len(all), err
}

// put writes rates of a record's device to all groups, and removes the record's other rates. It returns the number of groups.
func (w *DeviceLimits) put(n DeviceLimit, rates limit.Limits) (groups int, err error) {
	all, err := w.groups.Everyone()
	if err != nil {
		return 0, err
	}
	c := to(n.keys(), rates)
	for _, g := range all {
		_, err := w.groups.Hold(g, cgroup.Want{Change: c, Devices: []device.Number{n.Device}})
		switch {
		case errors.Is(err, cgroup.ErrGone) || errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return groups, err
		default:
			groups++
		}
	}
	return groups, nil
}

// keep records a volume's limits, or discards the record if there are none.
func (w *DeviceLimits) keep(ctx context.Context, n DeviceLimit) error {
	ctx = context.WithoutCancel(ctx) // An interrupt ends the change, but its record must still be written.
	if n.IsZero() {
		return w.journal.Discard(ctx, deviceLimitKind, n.Device.String())
	}
	return w.journal.Keep(ctx, deviceLimitKind, n.Device.String(), n)
}

// clear removes the limits of volumes' records, and then the records. A removed one is no longer in has.
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
	if has, err := w.look(); err == nil && !slices.ContainsFunc(has.all, func(n DeviceLimit) bool { return n.Volume == v.Folder }) {
		return nil
	}
	return w.while(ctx, func(has recorded) error {
		return w.clear(ctx, has, func(n DeviceLimit) bool { return n.Volume == v.Folder })
	})
}

// Lower lets a volume's device do fewer I/Os for a time than SetVolume allows: reads and writes a second. Raise ends it. If this process is
// killed, SweepVolumes does. The caller must keep the device attached meanwhile. The error is a refusal if the device has
// another owner.
func (w *DeviceLimits) Lower(ctx context.Context, v Volume, d explain.Spot, reads, writes int64) error {
	return w.while(ctx, func(has recorded) error {
		if err := has.damaged.of(d.Number); err != nil {
			return err
		}
		n, self := w.recordOf("plimsoll volume "+v.Name, d, limit.Limits{}), procfs.Self()
		n.Volume = v.Folder
		if before := on(has.all, d.Number); before != nil {
			if before.left() || before.Volume != v.Folder {
				return before.taken()
			}
			n = *before
		}
		if n.Lowered == nil || *n.Lowered != self {
			n.Lowered = &self
			if err := w.keep(ctx, n); err != nil {
				return err
			}
		}
		rates := n.Limits
		rates.ReadIOPS, rates.WriteIOPS = lower(reads, rates.ReadIOPS), lower(writes, rates.WriteIOPS)
		_, err := w.put(n, rates)
		return err
	})
}

// lower returns a rate below a limit, if there is one, that the kernel takes.
func lower(rate, most int64) int64 {
	if rate = max(rate, limit.MinRate); most > 0 {
		return min(rate, most)
	}
	return min(rate, limit.MaxIOPS)
}

// Raise ends what Lower did to a volume: its device has the rates of SetVolume again.
func (w *DeviceLimits) Raise(ctx context.Context, v Volume) error {
	return w.while(ctx, func(has recorded) error {
		return w.raise(ctx, has, func(n DeviceLimit) bool { return n.Volume == v.Folder })
	})
}

func (w *DeviceLimits) raise(ctx context.Context, has recorded, which func(DeviceLimit) bool) error {
	for _, n := range has.all {
		if n.Lowered == nil || n.left() || !which(n) {
			continue
		}
		if _, err := w.put(n, n.Limits); err != nil {
			return err
		}
		n.Lowered = nil
		if err := w.keep(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// SweepVolumes removes the limits of volumes whose device has gone: its number may belong to another device. And it raises what a
// process lowered that was killed. It returns what it did.
func (w *DeviceLimits) SweepVolumes(ctx context.Context) (done []string, err error) {
	gone := func(n DeviceLimit) bool { return n.Volume != "" && n.left() }
	orphan := func(n DeviceLimit) bool { return n.Lowered != nil && !n.Lowered.Alive() }
	if has, err := w.look(); err == nil && !slices.ContainsFunc(has.all, gone) && !slices.ContainsFunc(has.all, orphan) {
		return nil, nil
	}
	err = w.while(ctx, func(has recorded) error {
		for _, n := range has.all {
			switch {
			case gone(n):
				done = append(done, n.For+": its limit of "+n.Disk+", which it no longer has")
			case orphan(n):
				done = append(done, n.For+": it was held back for another volume")
			}
		}
		return errors.Join(w.clear(ctx, has, gone), w.raise(ctx, has, orphan))
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
