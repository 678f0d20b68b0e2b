package hold

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/procfs"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/state/journal"
)

// A DeviceLimit is the record of a device's limits in the root group of version 1, which apply to all users of the
// device. It names the owner. The kernel doesn't record that, and the limits outlive the owner.
type DeviceLimit struct {
	// For is the owner: a target's reference ("volume:docker:data"), a run or a daemon.
	For string `json:"for"`
	// ForBytes is For if that is not UTF-8, which JSON can't carry: a group's name may contain any bytes.
	ForBytes []byte `json:"for_bytes,omitempty"`
	// Daemon is the folder of the daemon that is the owner, "" for others.
	Daemon string `json:"daemon,omitempty"`
	// Volume is the folder of the volume of Plimsoll that is the owner, "" for others: see SetVolume.
	Volume string `json:"volume,omitempty"`
	// Lowered is the process that lowers a volume's rates of I/Os for a time: see Lower. The kernel may have any rate up to
	// those of Limits. Nil: none does.
	Lowered *procfs.Process `json:"lowered,omitempty"`
	// Device is the disk's number, and Disk its name.
	Device device.Number `json:"device"`
	Disk   string        `json:"disk"`
	// Limits are the rates.
	Limits limit.Limits `json:"limits"`
	// Prior are the owner's rates before these, until these are written: a process killed in between leaves them in
	// force.
	Prior limit.Limits `json:"prior,omitzero"`
	// Boot is the boot in which they were set; they don't outlive it.
	Boot string `json:"boot"`
	Medium
	// Rules is what a daemon remembers of each limit, in the order of the keys.
	Rules []RuleLimit `json:"rules"`
	// By is the process that the limits belong to while it runs; nil for limits that stay.
	By *procfs.Process `json:"by,omitempty"`
	// Former is set if the number belongs to another device by now, and the kernel still has the limits for the number.
	Former bool `json:"-"`
	// Gone is set together with Former if the number belongs to no device by now, or to an empty one.
	Gone bool `json:"-"`
	// Ended is set if the process that the limits belong to was killed, and the kernel may still have them.
	Ended bool `json:"-"`
}

// String returns the limits and their device: "write_bps=6MiB on loop1 (7:1)".
func (w DeviceLimit) String() string { return fmt.Sprintf("%s on %s (%s)", w.Limits, w.Disk, w.Device) }

// keys returns the keys of w's limits, including those that a daemon's rule removes.
func (w DeviceLimit) keys() []limit.Key {
	return slices.DeleteFunc(slices.Clone(limit.Keys), func(k limit.Key) bool {
		return !w.Limits.Has(k) && !w.Prior.Has(k) && w.rule(k) == nil && !w.lowers(k)
	})
}

// IsZero reports whether w has no limits.
func (w DeviceLimit) IsZero() bool { return len(w.keys()) == 0 }

// Only returns w with only the limits of some keys.
func (w DeviceLimit) Only(keys []limit.Key) DeviceLimit {
	return w.less(slices.DeleteFunc(w.keys(), func(k limit.Key) bool { return slices.Contains(keys, k) }))
}

// less returns w without the limits of some keys.
func (w DeviceLimit) less(keys []limit.Key) DeviceLimit {
	w.Limits = w.Limits.Without(keys...)
	w.Rules = slices.DeleteFunc(slices.Clone(w.Rules), func(r RuleLimit) bool { return slices.Contains(keys, r.Key) })
	return w
}

// has reports whether a rate of the kernel's, as text, belongs to w: the recorded rate, or the one before it.
func (w DeviceLimit) has(k limit.Key, text string) bool {
	if r := w.rule(k); r != nil {
		return text == w.Limits.Text(k) || r.Prior != nil && text == r.Prior.Text(k)
	}
	if w.lowers(k) && w.atMost(k, text) {
		return true
	}
	return w.Limits.Has(k) && w.Limits.Text(k) == text || w.Prior.Has(k) && w.Prior.Text(k) == text
}

// left reports whether the limits have no owner any more, although the kernel may still have them. The limits of a
// running process have an owner even if another device has the number by now: only that process may remove the record.
func (w DeviceLimit) left() bool { return w.Ended || w.Former && w.By == nil }

// DeviceLimits are a machine's limits of devices in the root group. Each device has at most one owner: a target of
// plimsoll limit set, a run, or a daemon. The owner is recorded in the journal before the limit is set, and a second
// one is refused. Limits that another program has set in the root group have no record; they are left alone unless the
// user asks to replace them.
type DeviceLimits struct {
	fs      device.FS
	groups  *cgroup.Host
	boot    string
	journal *journal.Journal
}

// deviceLimitKind is the kind of their journal entries. The id of an entry is the device's number.
const deviceLimitKind = "device-limit"

// DeviceLimits returns the limits of devices that are recorded in the machine's folder.
func (h *Holder) DeviceLimits(machine string) *DeviceLimits {
	return newDeviceLimits(h.FS, h.Groups, machine)
}

// newDeviceLimits returns the limits of devices that are recorded in the machine's folder. Without a folder, nothing is
// recorded.
func newDeviceLimits(fs device.FS, groups *cgroup.Host, machine string) *DeviceLimits {
	return &DeviceLimits{fs, groups, procfs.Boot(fs.Proc), journal.In(machine)}
}

// List returns the recorded limits that still exist, by device: those of this boot, on disks that this machine has. If
// a number belongs to another device by now, List includes what the kernel still has for the number, as it does for
// loop devices. If only some records are damaged, the error wraps a journal.DamagedError, and List returns the others.
func (w *DeviceLimits) List() ([]DeviceLimit, error) {
	has, err := w.look()
	if err != nil {
		return nil, err
	}
	return has.all, has.damaged.err()
}

// A recorded is what the journal has of limits of devices.
type recorded struct {
	// all are those of List.
	all []DeviceLimit
	// stale are the ids of entries whose limits are gone.
	stale []string
	// damaged are the entries that can't be read.
	damaged damaged
}

// look reads the records.
func (w *DeviceLimits) look() (r recorded, err error) {
	entries, err := w.journal.Entries(deviceLimitKind)
	if r.damaged, err = journal.Damaged(err); err != nil {
		return recorded{}, err
	}
	var now map[device.Number]limit.Limits
	for _, e := range entries {
		n, bad := w.parse(e)
		if bad != nil {
			r.damaged = append(r.damaged, bad)
			continue
		}
		m, err := mediumOf(w.fs, n.Device)
		if n.Boot != w.boot || errors.Is(err, fs.ErrNotExist) {
			r.stale = append(r.stale, e.ID)
			continue
		}
		if err == nil && !n.is(m) {
			if now == nil {
				if _, now, err = w.now(); err != nil {
					return recorded{}, err
				}
			}
			has := now[n.Device]
			if n.Volume != "" {
				if has, err = w.Anywhere(n.Device); err != nil {
					return recorded{}, err
				}
			}
			n.Former, n.Gone = true, vacant(w.fs, n.Device)
			n = n.less(slices.DeleteFunc(n.keys(), func(k limit.Key) bool { return has.Has(k) && n.has(k, has.Text(k)) }))
			for i := range n.Rules {
				n.Rules[i].Before = limit.Limits{} // That was the other device's.
			}
			if n.IsZero() {
				r.stale = append(r.stale, e.ID)
				continue
			}
		}
		if n.By = nil; !e.Kept() {
			by := e.Process()
			n.By, n.Ended = &by, !w.journal.Alive(e)
		}
		r.all = append(r.all, n)
	}
	return r, nil
}

// while calls f with the records. No other process changes them until f has returned; if one is changing them, while
// waits until ctx ends. It removes stale records first.
func (w *DeviceLimits) while(ctx context.Context, f func(recorded) error) error {
	return w.journal.Alone(ctx, deviceLimitKind, func() error {
		has, err := w.look()
		if err != nil {
			return err
		}
		for _, id := range has.stale {
			var owned *journal.OwnedError
			if err := w.journal.Discard(ctx, deviceLimitKind, id); err != nil && !errors.As(err, &owned) {
				return err
			}
		}
		return f(has)
	})
}

// now returns the root group, and its limits for each device. With version 2, whose root group has no limits, it
// returns nothing.
func (w *DeviceLimits) now() (*cgroup.Target, map[device.Number]limit.Limits, error) {
	root, err := w.groups.Device()
	if errors.Is(err, cgroup.ErrUnsupported) {
		return nil, map[device.Number]limit.Limits{}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	states, err := w.groups.Read(root)
	if err != nil {
		return nil, nil, err
	}
	return root, states[0].Devices, nil
}

// For returns what is recorded for a target. If the reference names no engine, these are all records of its kind and
// name.
func (w *DeviceLimits) For(r target.Ref) ([]DeviceLimit, error) {
	all, err := w.List()
	return slices.DeleteFunc(all, func(n DeviceLimit) bool {
		o, err := target.Parse(n.For)
		return err != nil || n.By != nil || n.Daemon != "" || o.Kind != r.Kind || o.Name != r.Name || r.Engine != "" && o.Engine != r.Engine || r.Namespace != "" && o.Namespace != r.Namespace
	}), err
}

// Owner returns the owner under which a scope's limits in the root group are recorded.
func (s *Scope) Owner() string { return s.Target.Ref() }

// on returns the record of a device, or nil.
func on(all []DeviceLimit, d device.Number) *DeviceLimit {
	if i := slices.IndexFunc(all, func(n DeviceLimit) bool { return n.Device == d }); i >= 0 {
		return &all[i]
	}
	return nil
}

// written replaces the records of devices, which were before, by after. The records of other processes are the same in
// both. A damaged record is not replaced.
func (w *DeviceLimits) written(ctx context.Context, before, after []DeviceLimit) error {
	return w.writtenBy(ctx, w.journal.Keep, before, after)
}

// writtenBy is written with the journal's call that records a device's limits.
func (w *DeviceLimits) writtenBy(ctx context.Context, keep func(ctx context.Context, kind, id string, payload any) error, before, after []DeviceLimit) error {
	// An interrupt ends the change, but its records must still be written.
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for _, n := range after {
		if o := on(before, n.Device); o == nil || o.record() != n.record() {
			errs = append(errs, keep(ctx, deviceLimitKind, n.Device.String(), n))
		}
	}
	for _, o := range before {
		if on(after, o.Device) == nil {
			errs = append(errs, w.journal.Discard(ctx, deviceLimitKind, o.Device.String()))
		}
	}
	return errors.Join(errs...)
}

// record returns w as it is recorded.
func (w DeviceLimit) record() string {
	b, _ := json.Marshal(w) // It has nothing that JSON can't carry.
	return string(b)
}
