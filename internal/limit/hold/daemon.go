package hold

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
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
	// Prior is the daemon's value before this one ("none" if it was none), until this one is written. "" means that the
	// value did not change.
	Prior string `json:"prior,omitempty"`
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

// Vacate prepares a device for limits of the daemon of the folder run: it removes limits that a former owner left there.
// The error is a refusal if the device has another owner.
func (w *DeviceLimits) Vacate(ctx context.Context, run string, d device.Number) error {
	former := func(all []DeviceLimit) (*DeviceLimit, error) {
		switch o := on(all, d); {
		case o == nil || o.OfDaemon(run):
			return nil, nil
		case o.left():
			return o, nil
		default:
			return nil, o.taken()
		}
	}
	all, _, _, err := w.look()
	if err == nil {
		err = w.readable(d)
	}
	if err != nil {
		return err
	}
	if left, err := former(all); left == nil {
		return err // No lock is needed.
	}
	return w.while(ctx, func(all []DeviceLimit) error {
		left, err := former(all)
		if left == nil {
			return err
		}
		if _, _, err := w.remove([]DeviceLimit{*left}, false); err != nil {
			return err
		}
		return w.journal.Discard(ctx, deviceLimitKind, d.String())
	})
}

// Record makes a list the records of the daemon of the folder run: before the daemon sets the limits of the list, and
// after it has removed others. Of each record the device, the disk, its identity (if it is known), the limits and the
// rules must be set. The error is a refusal if a device has another owner; then nothing is recorded. A damaged record of a
// device of the list is replaced: the daemon has called Vacate, or limited the device since before the damage.
func (w *DeviceLimits) Record(ctx context.Context, run string, list []DeviceLimit) error {
	run = absolute(run)
	after := slices.Clone(list)
	for i := range after {
		n := &after[i]
		n.For, n.Daemon, n.Boot = "plimsoll daemon of "+run, run, w.boot
		if m, err := mediumOf(w.fs, n.Device); err == nil && (n.Identity == "" || n.Identity == m.Identity) {
			n.Medium = m
		}
	}
	// before returns the daemon's present records.
	before := func(all []DeviceLimit) (mine []DeviceLimit, err error) {
		for _, o := range all {
			switch {
			case o.Daemon == run:
				mine = append(mine, o)
			case !o.left() && on(after, o.Device) != nil:
				return nil, o.taken()
			}
		}
		return mine, nil
	}
	if all, stale, _, err := w.look(); err == nil && len(stale) == 0 {
		mine, err := before(all)
		differs := func(n DeviceLimit) bool { o := on(mine, n.Device); return o == nil || o.record() != n.record() }
		if err == nil && len(mine) == len(after) && !slices.ContainsFunc(after, differs) {
			return nil // No lock is needed.
		}
	}
	return w.while(ctx, func(all []DeviceLimit) error {
		mine, err := before(all)
		if err != nil {
			return err
		}
		return w.writtenBy(ctx, w.journal.Rewrite, mine, after)
	})
}
