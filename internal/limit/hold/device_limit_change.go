package hold

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/text/clean"
)

// Change makes a change by apply, and keeps the records of the scope's target in the root group in step. Rates that are
// set there are recorded. Rates that are removed elsewhere are removed from the root group too. The error is a refusal
// if a device has another owner. With dry, apply and Change only plan. A device whose record is damaged gets no limits.
// If its limits are removed from the root group, the record is discarded.
func (w *DeviceLimits) Change(ctx context.Context, s *Scope, c limit.Change, dry bool, apply func() ([]Done, error)) (done []Done, err error) {
	has, err := w.look()
	if unknown := errors.Join(err, has.damaged.err()); unknown != nil && !s.HasRootGroup() {
		// The target's own limits don't concern the root group.
		own := apply
		apply = func() ([]Done, error) {
			done, failed := own()
			if len(done) > 0 {
				done[0].Notes = append(done[0].Notes, fmt.Sprintf("its limits in the root group are not known, and were left as they are: %v", unknown))
			}
			return done, failed
		}
		if err != nil {
			return apply()
		}
	}
	if err != nil {
		return nil, err
	}
	r := rates(c)
	if !(s.HasRootGroup() && r.Set.IO()) && (len(r.Remove) == 0 || len(has.all)+len(has.damaged) == 0) {
		return apply()
	}
	if dry {
		return w.change(ctx, s, r, has, true, apply)
	}
	if !s.HasRootGroup() && !slices.ContainsFunc(has.all, func(n DeviceLimit) bool { return n.For == s.Owner() }) {
		return apply() // The records don't change, so it doesn't matter if the folder can't be written.
	}
	err = w.while(ctx, func(has recorded) error {
		done, err = w.change(ctx, s, r, has, false, apply)
		return err
	})
	return done, err
}

// HasRootGroup reports whether limits of the scope apply to the root group too.
func (s *Scope) HasRootGroup() bool {
	return slices.ContainsFunc(s.GroupSets, func(p GroupSet) bool { return p.DeviceWide })
}

// change is Change with the records already read; the caller keeps other processes from changing them. A limit is
// recorded before it is set, and its record is removed after the limit.
func (w *DeviceLimits) change(ctx context.Context, s *Scope, r limit.Change, has recorded, dry bool, apply func() ([]Done, error)) ([]Done, error) {
	x, err := w.intend(s, r, has)
	if err != nil {
		return nil, err
	}
	// Limits without an owner are removed even if the change fails.
	gone, _, err := w.remove(x.left, dry)
	if err != nil {
		return nil, err
	}
	extra, back, err := w.remove(x.mine, dry)
	if err != nil {
		return nil, err
	}
	extra = append(gone, extra...)
	if dry {
		done, err := apply()
		return append(tell(done, append(x.told, w.discardDamaged(ctx, s, r, has.damaged, true)...)), extra...), err
	}
	before := slices.DeleteFunc(slices.Clone(has.all), func(n DeviceLimit) bool { return on(x.left, n.Device) != nil })
	if err := w.written(ctx, has.all, x.during); err != nil {
		// Some may have been written. Writing the others again would only fail again.
		now, bad := w.look()
		return nil, errors.Join(err, back(), bad, w.written(ctx, now.all, before))
	}
	done, err := apply()
	if cgroup.NotRestored(err) {
		return done, errors.Join(err, back()) // The record stays: limit clear removes by it what the kernel has.
	}
	if err != nil {
		return done, errors.Join(err, back(), w.written(ctx, x.during, before))
	}
	x.told = append(x.told, w.discardDamaged(ctx, s, r, has.damaged, false)...)
	done = append(tell(done, x.told), extra...)
	if err := w.written(ctx, x.during, x.after); err != nil {
		return done, fmt.Errorf("the limits are as asked, but the record of those in the root group could not be written: %w; repeat the command once it can be", err)
	}
	return done, nil
}

// An intent is the effect of a change of a scope on the records.
type intent struct {
	// during is the list of records while the change is made, after the list when it is done.
	during, after []DeviceLimit
	// left are limits that earlier owners left on the devices; mine are the target's own. Both are removed.
	left, mine []DeviceLimit
	// told are sentences for the user.
	told []string
}

// intend plans the records of a change. The error is a refusal if a device has another owner.
func (w *DeviceLimits) intend(s *Scope, r limit.Change, has recorded) (x intent, err error) {
	x.during = slices.Clone(has.all)
	if s.HasRootGroup() && r.Set.IO() {
		_, now, err := w.now()
		if err != nil {
			return x, err
		}
		for _, d := range s.Devices() {
			if mine := ratesOn(d, r.Set); !mine.IsZero() {
				if err := has.damaged.of(d.Number); err != nil {
					return x, err
				}
				if err := x.take(w.recordOf(s.Owner(), d, mine), now); err != nil {
					return x, err
				}
			}
		}
	}
	x.after = slices.Clone(x.during)
	for i := range x.after {
		if x.after[i].For == s.Owner() {
			x.after[i].Prior = limit.Limits{}
		}
	}
	for _, n := range has.all {
		if len(s.Places) > 0 && !slices.ContainsFunc(s.Devices(), func(d explain.Spot) bool { return d.Number == n.Device }) {
			continue
		}
		both := n.Only(r.Remove)
		switch {
		case both.IsZero():
		case s.HasRootGroup(): // The change itself removes them, another owner's too.
			if n.For != s.Owner() && !n.left() {
				if n.By != nil || n.Daemon != "" {
					return x, n.taken()
				}
				x.told = append(x.told, fmt.Sprintf("this also removes %s, set there for %s; to clear only the limits of %s: plimsoll limit clear %s", both, n.For, s.Owner(), clean.Shell(s.Owner())))
			}
			x.after = without(x.after, n, r.Remove)
		case n.For == s.Owner():
			x.mine, x.after = append(x.mine, both), without(x.after, n, r.Remove)
		}
	}
	return x, nil
}

// recordOf returns the record of an owner's rates of a device.
func (w *DeviceLimits) recordOf(owner string, d explain.Spot, rates limit.Limits) DeviceLimit {
	n := DeviceLimit{For: owner, Device: d.Number, Disk: d.Name, Limits: rates, Boot: w.boot}
	// If the device goes away, the kernel refuses the limit.
	n.Medium, _ = mediumOf(w.fs, n.Device)
	if !utf8.ValidString(n.For) {
		n.ForBytes = []byte(n.For)
	}
	return n
}

// take makes n's owner the owner of its device, and adds n's rates to the owner's earlier ones. now is what the kernel
// has.
func (x *intent) take(n DeviceLimit, now map[device.Number]limit.Limits) error {
	has := now[n.Device]
	before := on(x.during, n.Device)
	switch {
	case before == nil:
	case before.left():
		x.left = append(x.left, *before)
	case before.For != n.For:
		return before.taken()
	}
	for _, k := range n.Limits.Keys() {
		if has.Has(k) && (before == nil || !before.has(k, has.Text(k))) {
			x.told = append(x.told, fmt.Sprintf("another program set %s=%s there, and may set or remove it again", k, has.Text(k)))
		}
	}
	if before != nil && !before.left() {
		n = n.beside(*before, has)
	}
	x.during = append(slices.DeleteFunc(x.during, func(o DeviceLimit) bool { return o.Device == n.Device }), n)
	return nil
}

// beside returns n with its owner's earlier limits added: rates that stay, and rates that the kernel has until n's are
// written.
func (n DeviceLimit) beside(before DeviceLimit, has limit.Limits) DeviceLimit {
	for _, k := range before.Limits.Keys() {
		switch {
		case !n.Limits.Has(k):
			n.Limits = n.Limits.With(k, before.Limits)
		case before.Prior.Has(k) && before.Prior.Text(k) == has.Text(k):
			n.Prior = n.Prior.With(k, before.Prior) // Its last change was never made.
		default:
			n.Prior = n.Prior.With(k, before.Limits)
		}
	}
	return n
}

// Clear removes the recorded limits of a list; keys nil means all of them. It returns what was done for each. Limits of
// a running process stay, and those for which stays is true; nil: of none. Clear asks stays while no other process changes the records.
func (w *DeviceLimits) Clear(ctx context.Context, list []DeviceLimit, keys []limit.Key, dry bool, stays func(DeviceLimit) bool) (done []Done, err error) {
	c := limit.Clear(keys...)
	change := func(has recorded) error {
		var mine []DeviceLimit
		var stay []Done
		after := slices.Clone(has.all)
		for _, n := range has.all {
			if !slices.ContainsFunc(list, func(o DeviceLimit) bool { return o.For == n.For && o.Device == n.Device }) || n.Only(c.Remove).IsZero() || stays != nil && stays(n) {
				continue
			}
			if n.By != nil && !n.left() {
				stay = append(stay, Done{GroupSet: n.groupSet(nil), Diff: &cgroup.Diff{}, Notes: []string{fmt.Sprintf("%s stays: it is for %s; %s", n.Limits, n.For, n.fix())}})
				continue
			}
			mine, after = append(mine, n.Only(c.Remove)), without(after, n, c.Remove)
		}
		did, back, err := w.remove(mine, dry)
		if done = append(did, stay...); err != nil || dry {
			return err
		}
		if err := w.written(ctx, has.all, after); err != nil {
			// Nothing is cleared then: the kernel has the limits again, and the records that were written before the error are
			// written back.
			done = nil
			now, bad := w.look()
			return errors.Join(err, back(), bad, w.written(ctx, now.all, has.all))
		}
		return nil
	}
	if dry {
		has, err := w.look()
		if err == nil {
			err = change(has)
		}
		return done, err
	}
	err = w.while(ctx, change)
	return done, err
}

// tell adds sentences as notes to what was done in the root group.
func tell(done []Done, told []string) []Done {
	for i := range done {
		if done[i].GroupSet.DeviceWide {
			done[i].Notes = append(done[i].Notes, told...)
		}
	}
	return done
}
