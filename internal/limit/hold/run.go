package hold

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/state/journal"
)

// Hold sets rates in the root group on a disk, for as long as this process runs. If the disk already has rates there,
// the error is a refusal. Release removes the rates; if this process is killed, Sweep does. If cgroup.NotRestored is true
// of the error, n is recorded, and Release is needed too. With version 2, which has no such limits, the error wraps
// cgroup.ErrUnsupported.
func (w *DeviceLimits) Hold(ctx context.Context, owner string, d explain.Spot, rates limit.Limits) (n DeviceLimit, err error) {
	root, err := w.groups.Device()
	if err != nil {
		return n, err
	}
	n = w.recordOf(owner, d, rates)
	return n, w.while(ctx, func(has recorded) error {
		if err := has.damaged.of(n.Device); err != nil {
			return err
		}
		_, now, err := w.now()
		if err != nil {
			return err
		}
		before := on(has.all, n.Device)
		if err := free(before, now[n.Device], n.Disk); err != nil {
			return err
		}
		if before != nil {
			if _, _, err := w.remove([]DeviceLimit{*before}, false); err != nil {
				return err
			}
		}
		if err := w.journal.Put(ctx, deviceLimitKind, n.Device.String(), n); err != nil {
			return err
		}
		_, err = w.groups.Hold(root, cgroup.Want{Change: limit.Change{Set: n.Limits}, Devices: []device.Number{n.Device}})
		if err != nil && !cgroup.NotRestored(err) {
			return errors.Join(err, w.journal.Remove(deviceLimitKind, n.Device.String()))
		}
		return err
	})
}

// Release removes what Hold has set. Limits that another program has set instead stay. If the number belongs to another
// device by now, nothing is removed: the error says what the number still has, which stays recorded.
func (w *DeviceLimits) Release(ctx context.Context, n DeviceLimit) error {
	return w.while(ctx, func(recorded) error {
		if _, err := w.giveBack(n); err != nil {
			return err
		}
		return w.journal.Remove(deviceLimitKind, n.Device.String())
	})
}

// giveBack removes a run's limits from the root group. ended says why there was nothing to remove, "" if there was.
func (w *DeviceLimits) giveBack(n DeviceLimit) (ended string, err error) {
	if n.Boot != w.boot {
		return "the limit ended with an earlier boot", nil
	}
	m, err := mediumOf(w.fs, n.Device)
	if errors.Is(err, fs.ErrNotExist) {
		return endedWithDevice, nil
	}
	if err == nil && !n.is(m) && !vacant(w.fs, n.Device) {
		n.Former = true
		return "", errors.New(n.Still(""))
	}
	_, _, err = w.remove([]DeviceLimit{n}, false)
	return "", err
}

// endedWithDevice says why there is no limit of a device that is gone.
const endedWithDevice = "the limit ended with the device"

// SweepRuns removes the limits that killed runs left in the root group, by the records in the machine's folder.
func SweepRuns(ctx context.Context, fs device.FS, machine string) (removed []string, err error) {
	groups, err := cgroup.Open(fs)
	if err != nil {
		return nil, nil // There are no groups any more, and no limits.
	}
	return newDeviceLimits(fs, groups, machine).Sweep(ctx)
}

// Sweep removes the limits that killed runs left in the root group.
func (w *DeviceLimits) Sweep(ctx context.Context) (removed []string, err error) {
	entries, err := w.journal.Entries(deviceLimitKind)
	if _, other := journal.Damaged(err); other != nil {
		return nil, other
	}
	if len(entries) == 0 && err == nil {
		return w.journal.Sweep(ctx, nil) // A killed process may have left a lock, or half an entry.
	}
	err = w.journal.Alone(ctx, deviceLimitKind, func() error {
		removed, err = w.journal.Sweep(ctx, map[string]journal.Undo{deviceLimitKind: func(_ context.Context, e journal.Entry) ([]string, error) {
			n, damaged := w.parse(e)
			if damaged != nil {
				return nil, damaged
			}
			ended, err := w.giveBack(n)
			if err != nil {
				return nil, err
			}
			if ended != "" {
				return []string{fmt.Sprintf("the record of a limit of device %s: %s", n.Device, ended)}, nil
			}
			return []string{"limit of device " + n.Device.String()}, nil
		}})
		_, swept := journal.Damaged(err) // Damaged records are among those of look, with the ones that no sweep undoes.
		has, err := w.look()
		gone, stay := w.discardGone(ctx, has.damaged)
		removed = append(removed, gone...)
		return errors.Join(swept, err, stay)
	})
	raised, bad := w.SweepVolumes(ctx)
	return append(removed, raised...), errors.Join(err, bad)
}
