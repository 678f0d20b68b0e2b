package hold

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
)

// A daemon records its limits in its own folder, for its successor. The machine's folder records only which devices it
// owns: others set no limits on them, and the daemon sets none on the devices of others.

// Claim makes the daemon of the folder run the owner of a device, before the daemon sets the device's rates in the root
// group. The error is a refusal if the device has another owner. Limits that a former owner left on it are removed.
func (w *DeviceLimits) Claim(ctx context.Context, run string, d device.Number, disk string, rates limit.Limits) error {
	run = absolute(run)
	n := DeviceLimit{For: "plimsoll daemon of " + run, Daemon: run, Device: d, Disk: disk, Limits: rates, Boot: w.boot}
	n.Medium, _ = mediumOf(w.fs, d)
	claimed := func(all []DeviceLimit) (bool, error) {
		switch o := on(all, d); {
		case o == nil || o.left():
			return false, nil
		case o.Daemon != run:
			return false, o.taken()
		default:
			return o.Limits == rates, nil
		}
	}
	all, _, _, err := w.look()
	if err == nil {
		err = w.readable(d)
	}
	if err == nil {
		var same bool
		if same, err = claimed(all); same {
			return nil // No lock is needed.
		}
	}
	if err != nil {
		return err
	}
	return w.while(ctx, func(all []DeviceLimit) error {
		if _, err := claimed(all); err != nil {
			return err
		}
		if o := on(all, d); o != nil && o.left() && o.Daemon != run {
			if _, _, err := w.remove([]DeviceLimit{*o}, false); err != nil {
				return err
			}
		}
		return w.journal.Keep(ctx, deviceLimitKind, d.String(), n)
	})
}

// OfDaemon reports whether n is the limit of the daemon of the folder run.
func (n DeviceLimit) OfDaemon(run string) bool { return n.Daemon != "" && n.Daemon == absolute(run) }

// absolute returns a folder's absolute path, or dir itself if the current folder is unknown.
func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// Disclaim gives up the devices of the daemon of the folder run, except those for which keeps returns true.
func (w *DeviceLimits) Disclaim(ctx context.Context, run string, keeps func(device.Number) bool) error {
	run = absolute(run)
	lost := func(n DeviceLimit) bool { return n.Daemon == run && !keeps(n.Device) }
	if all, _, _, err := w.look(); err == nil && !slices.ContainsFunc(all, lost) {
		return nil
	}
	return w.while(ctx, func(all []DeviceLimit) error {
		var errs []error
		for _, n := range all {
			if lost(n) {
				errs = append(errs, w.journal.Discard(context.WithoutCancel(ctx), deviceLimitKind, n.Device.String()))
			}
		}
		return errors.Join(errs...)
	})
}
