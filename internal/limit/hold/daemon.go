package hold

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/state/journal"
)

// A RuleLimit is what a daemon remembers of one of its limits of a device, for the next daemon of its folder. The value
// is in the record's Limits; if they have none, the rule removes the limit.
type RuleLimit struct {
	Key limit.Key `json:"key"`
	// Rule is the name of the policy's rule.
	Rule string `json:"rule"`
	// Since is when the daemon first set the limit.
	Since time.Time `json:"since"`
	// Before is the value before the daemon's, zero for none. It is restored when the daemon's is removed.
	Before limit.Limits `json:"before"`
	// Prior is the daemon's value before this one, until this one is written. Nil means that the value did not change.
	Prior *limit.Limits `json:"prior,omitempty"`
	// Drift is how often the daemon found the limit changed, and restored it.
	Drift int `json:"drift"`
}

// rule returns what a daemon remembers of a limit, or nil.
func (n DeviceLimit) rule(k limit.Key) *RuleLimit {
	if i := slices.IndexFunc(n.Rules, func(r RuleLimit) bool { return r.Key == k }); i >= 0 {
		return &n.Rules[i]
	}
	return nil
}

// before returns the values to restore when n is removed.
func (n DeviceLimit) before() (l limit.Limits) {
	for _, r := range n.Rules {
		l = l.With(r.Key, r.Before)
	}
	return l
}

// OfDaemon reports whether n is a limit of the daemon of the folder run.
func (n DeviceLimit) OfDaemon(run string) bool { return n.Daemon != "" && n.Daemon == absolute(run) }

// absolute returns a folder's absolute path, or dir itself if the current folder is unknown.
func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// DaemonRecords are the records of limits of devices, as the daemon of one folder changes them: see AsDaemon.
type DaemonRecords struct {
	ctx    context.Context
	limits *DeviceLimits
	run    string
	// Own are the daemon's records, and Others those of other owners, some of which may have ended.
	Own, Others []DeviceLimit

	damaged damaged
}

// AsDaemon calls f with the records of the daemon of the folder run. No other process changes any record until f has
// returned; if one is changing them, AsDaemon waits until ctx ends.
func (w *DeviceLimits) AsDaemon(ctx context.Context, run string, f func(*DaemonRecords) error) error {
	return w.while(ctx, func(has recorded) error { return f(w.ofDaemon(ctx, run, has)) })
}

// OfDaemon returns the records as the daemon of the folder run finds them now. They are only to be read: other processes
// may change them.
func (w *DeviceLimits) OfDaemon(run string) (*DaemonRecords, error) {
	has, err := w.look()
	if err != nil {
		return nil, err
	}
	return w.ofDaemon(context.Background(), run, has), nil
}

func (w *DeviceLimits) ofDaemon(ctx context.Context, run string, has recorded) *DaemonRecords {
	d := &DaemonRecords{ctx: ctx, limits: w, run: absolute(run), damaged: has.damaged}
	for _, n := range has.all {
		if n.OfDaemon(run) {
			d.Own = append(d.Own, n)
		} else {
			d.Others = append(d.Others, n)
		}
	}
	return d
}

// Taken returns the record of a device's other owner, and a refusal that names it, if there is one.
func (d *DaemonRecords) Taken(n device.Number) (by DeviceLimit, err error) {
	if o := on(d.Others, n); o != nil && !o.left() {
		return *o, o.taken()
	}
	return by, nil
}

// Refusal returns why the daemon can't have a device: a refusal if the device has another owner, or an error that wraps a
// journal.DamagedError if its record can't be read.
func (d *DaemonRecords) Refusal(n device.Number) error {
	if err := d.damaged.of(n); err != nil {
		return err
	}
	_, err := d.Taken(n)
	return err
}

// Vacate prepares a device for limits of the daemon: it removes limits that a former owner left there. The error may be
// the device's Refusal.
func (d *DaemonRecords) Vacate(n device.Number) error {
	if err := d.Refusal(n); err != nil {
		return err
	}
	left := on(d.Others, n)
	if left == nil {
		return nil
	}
	if _, _, err := d.limits.remove([]DeviceLimit{*left}, false); err != nil {
		return err
	}
	d.Others = slices.DeleteFunc(d.Others, func(o DeviceLimit) bool { return o.Device == n })
	return d.limits.journal.Discard(d.ctx, deviceLimitKind, n.String())
}

// Record replaces the daemon's records by a list. Call it before limits of the list are set, and after others were
// removed. Of each record the device, the disk, its identity (if it is known), the limits and the rules must be set. No
// device may have another owner. A damaged record of a device of the list is replaced: the daemon has called Vacate, or
// limited the device since before the damage.
func (d *DaemonRecords) Record(list []DeviceLimit) error {
	list = slices.Clone(list)
	for i := range list {
		n := &list[i]
		n.For, n.Daemon, n.Boot = "plimsoll daemon of "+d.run, d.run, d.limits.boot
		if m, err := mediumOf(d.limits.fs, n.Device); err == nil && (n.Identity == "" || n.Identity == m.Identity) {
			n.Medium = m
		}
	}
	err := d.limits.writtenBy(d.ctx, d.limits.journal.Rewrite, d.Own, list)
	if err == nil {
		d.Own = list
		d.damaged = slices.DeleteFunc(d.damaged, func(bad *journal.DamagedError) bool {
			return slices.ContainsFunc(list, func(n DeviceLimit) bool { return n.Device.String() == bad.ID })
		})
	}
	return err
}
