package hold

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"plimsoll/internal/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/target"
)

// A Wide is limits in the root group, for whom they were set: they outlive it, and the kernel doesn't know.
type Wide struct {
	// For is the target's reference: "volume:docker:data".
	For string `json:"for"`
	// Device is the disk's number, and Disk its name.
	Device cgroup.Device `json:"device"`
	Disk   string        `json:"disk"`
	// Limits are the rates.
	Limits limit.Limits `json:"limits"`
	// Boot is the boot in which they were set: they don't outlive it.
	Boot string `json:"boot"`
}

// String says what was set, and where: "write_bps=6MiB on loop1 (7:1)".
func (w Wide) String() string { return fmt.Sprintf("%s on %s (%s)", w.Limits, w.Disk, w.Device) }

// Wides notes for whom limits of the root group were set, and takes them away with that target's others. Where several
// targets have one on a disk, that of the last is in force, and those before come back. What somebody else has set there
// is left as it is.
type Wides struct {
	holder *Holder
	boot   string
	notes  notebook[Wide]
}

// Wides returns the notes in a folder.
func (h *Holder) Wides(folder string) *Wides {
	return &Wides{h, device.Text(h.FS.Proc, "sys", "kernel", "random", "boot_id"),
		notebook[Wide]{filepath.Join(folder, "device-wide.json"), "which limits of the root group were set, and for whom"}}
}

// List returns what is noted and still there: of this boot, on disks that this machine has, the last that was set last.
func (w *Wides) List() ([]Wide, error) {
	all, err := w.notes.read()
	return slices.DeleteFunc(all, func(n Wide) bool {
		_, err := w.holder.FS.Disk(n.Device.Major, n.Device.Minor)
		return n.Boot != w.boot || errors.Is(err, fs.ErrNotExist)
	}), err
}

// For is what is noted for a target, of all of a kind and name if the reference names no engine.
func (w *Wides) For(r target.Ref) ([]Wide, error) {
	all, err := w.List()
	return slices.DeleteFunc(all, func(n Wide) bool {
		o, err := target.Parse(n.For)
		return err != nil || o.Kind != r.Kind || o.Name != r.Name || r.Engine != "" && o.Engine != r.Engine || r.Namespace != "" && o.Namespace != r.Namespace
	}), err
}

// Owner is for whom limits of a scope in the root group are noted.
func (s *Scope) Owner() string { return s.Target.Ref() }

// Around makes a change by apply and looks after what the root group has for the scope's target: rates that are set there are
// noted, and those that are removed elsewhere are removed there as well. With dry apply only plans, and so does Around.
func (w *Wides) Around(ctx context.Context, s *Scope, c limit.Change, dry bool, apply func() ([]Done, error)) (done []Done, err error) {
	all, err := w.List()
	if err != nil {
		return nil, err
	}
	r := rates(c)
	if !(s.HasWide() && r.Set.IO()) && (len(r.Remove) == 0 || len(all) == 0) {
		return apply()
	}
	if dry {
		return w.around(s, r, all, true, apply)
	}
	err = w.notes.locked(ctx, func() error {
		if all, err = w.List(); err != nil {
			return err
		}
		done, err = w.around(s, r, all, false, apply)
		return err
	})
	return done, err
}

// HasWide reports whether the root group is a part of the scope.
func (s *Scope) HasWide() bool {
	return slices.ContainsFunc(s.Parts, func(p Part) bool { return p.DeviceWide })
}

// around is Around where the notes are known, and nobody else writes them. What is set is noted before, and what is removed is
// taken out of the notes afterwards.
func (w *Wides) around(s *Scope, r limit.Change, all []Wide, dry bool, apply func() ([]Done, error)) ([]Done, error) {
	noted, told := slices.Clone(all), []string(nil)
	if s.HasWide() {
		noted, told = w.add(noted, s, r.Set)
	}
	after, mine := slices.Clone(noted), []Wide(nil)
	for _, n := range all {
		if len(s.Grounds) > 0 && !slices.ContainsFunc(s.Devices(), func(d explain.Spot) bool { return d.Number() == n.Device.String() }) {
			continue
		}
		switch {
		case s.HasWide(): // The change itself removes them, whoever's they are.
			after = without(after, n, r.Remove)
		case n.For == s.Owner():
			mine, after = append(mine, n.only(r.Remove)), without(after, n, r.Remove)
		}
	}
	if dry {
		extra, _, err := w.release(all, mine, true)
		if err != nil {
			return nil, err
		}
		done, err := apply()
		return append(tell(done, told), extra...), err
	}
	if s.HasWide() && r.Set.IO() {
		if err := w.notes.write(noted); err != nil {
			return nil, err
		}
	}
	extra, back, err := w.release(all, mine, false)
	if err != nil {
		return nil, errors.Join(err, w.notes.write(all))
	}
	done, err := apply()
	if err != nil {
		return done, errors.Join(err, back(), w.notes.write(all))
	}
	return append(tell(done, told), extra...), w.notes.write(after)
}

// Clear removes what is noted for targets that may be gone, of the keys; nil: all. It returns what was done of each.
func (w *Wides) Clear(ctx context.Context, list []Wide, keys []limit.Key, dry bool) (done []Done, err error) {
	c := limit.Clear(keys...)
	change := func() error {
		all, err := w.List()
		if err != nil {
			return err
		}
		var mine []Wide
		after := slices.Clone(all)
		for _, n := range list {
			mine, after = append(mine, n.only(c.Remove)), without(after, n, c.Remove)
		}
		if done, _, err = w.release(all, mine, dry); err != nil || dry {
			return err
		}
		return w.notes.write(after)
	}
	if dry {
		return done, change()
	}
	err = w.notes.locked(ctx, change)
	return done, err
}

// add notes what a scope's change sets in the root group, and says whose limits there it takes the place of.
func (w *Wides) add(all []Wide, s *Scope, set limit.Limits) (noted []Wide, told []string) {
	for _, d := range s.Devices() {
		mine := set
		if d.ReadsOnly {
			mine = set.Without(limit.WriteBPS, limit.WriteIOPS)
		}
		if mine.IsZero() {
			continue
		}
		n := Wide{For: s.Owner(), Device: cgroup.Device{Major: d.Major, Minor: d.Minor}, Disk: d.Name, Limits: mine, Boot: w.boot}
		for _, o := range all {
			if o.Device != n.Device {
				continue
			}
			if o.For == n.For {
				for _, k := range limit.Keys {
					if o.Limits.Has(k) && !n.Limits.Has(k) {
						n.Limits = n.Limits.With(k, o.Limits)
					}
				}
				continue
			}
			if both := o.only(keysOf(mine)); !both.Limits.IsZero() {
				told = append(told, fmt.Sprintf("%s was set there for %s, and comes back when this is cleared", both, o.For))
			}
		}
		all = append(slices.DeleteFunc(all, func(o Wide) bool { return o.For == n.For && o.Device == n.Device }), n)
	}
	return all, told
}

// release takes what is in mine out of the root group, for the target that each is for. back puts it back.
func (w *Wides) release(all, mine []Wide, dry bool) (done []Done, back func() error, err error) {
	var undo []func() error
	back = func() error {
		var errs []error
		for _, f := range slices.Backward(undo) {
			errs = append(errs, f())
		}
		return errors.Join(errs...)
	}
	if len(mine) == 0 {
		return nil, back, nil
	}
	root, err := w.holder.Groups.Device()
	if err != nil {
		return nil, back, err
	}
	states, err := w.holder.Groups.Read(root)
	if err != nil {
		return nil, back, err
	}
	for _, n := range mine {
		now := states[0].Devices[n.Device]
		c, notes := released(n, now, all)
		if len(keysOf(c.Set)) == 0 && len(c.Remove) == 0 && len(notes) == 0 {
			continue
		}
		d := Done{Part: Part{Name: fmt.Sprintf("the root group, for %s (%s)", n.Disk, n.Device), Groups: root, DeviceWide: true, For: n.For}, Notes: notes}
		want := cgroup.Want{Change: c, Devices: []cgroup.Device{n.Device}}
		if d.Diff, err = w.holder.Groups.Plan(root, want); err == nil && !dry {
			d.Writes, err = d.Diff.Apply()
		}
		if err != nil {
			return nil, back, errors.Join(fmt.Errorf("%s: %w", d.Part.Name, err), back())
		}
		undo = append(undo, func() error {
			was := limit.Change{}
			for _, k := range append(keysOf(c.Set), c.Remove...) {
				was.Set = was.Set.With(k, now)
			}
			diff, err := w.holder.Groups.Plan(root, cgroup.Want{Change: was, Devices: want.Devices})
			if err == nil {
				_, err = diff.Apply()
			}
			return err
		})
		done = append(done, d)
	}
	return done, back, nil
}

// released is what becomes of a disk's rates in the root group when n goes, which is one of all. now is what the kernel has.
func released(n Wide, now limit.Limits, all []Wide) (c limit.Change, notes []string) {
	for _, k := range keysOf(n.Limits) {
		var last, rest *Wide
		for i := range all {
			if o := &all[i]; o.Device == n.Device && o.Limits.Has(k) {
				last = o
				if o.For != n.For {
					rest = o
				}
			}
		}
		switch {
		case !now.Has(k):
		case last == nil || now.Text(k) != last.Limits.Text(k):
			notes = append(notes, fmt.Sprintf("%s=%s on %s is not what was set for %s: somebody else's, and left", k, now.Text(k), n.Disk, n.For))
		case last.For != n.For:
			notes = append(notes, fmt.Sprintf("%s=%s on %s stays: it is for %s", k, now.Text(k), n.Disk, last.For))
		case rest != nil:
			c.Set = c.Set.With(k, rest.Limits)
			notes = append(notes, fmt.Sprintf("%s=%s on %s is in force again: it is for %s", k, rest.Limits.Text(k), n.Disk, rest.For))
		default:
			c.Remove = append(c.Remove, k)
		}
	}
	return c, notes
}

// only is n with the rates of some keys alone.
func (n Wide) only(keys []limit.Key) Wide {
	for _, k := range keysOf(n.Limits) {
		if !slices.Contains(keys, k) {
			n.Limits = n.Limits.Without(k)
		}
	}
	return n
}

// without takes keys out of what is noted for n's target on its disk.
func without(all []Wide, n Wide, keys []limit.Key) []Wide {
	for i := range all {
		if all[i].For == n.For && all[i].Device == n.Device {
			all[i].Limits = all[i].Limits.Without(keys...)
		}
	}
	return slices.DeleteFunc(all, func(o Wide) bool { return o.Limits.IsZero() })
}

// keysOf lists what l bounds.
func keysOf(l limit.Limits) (keys []limit.Key) {
	for _, k := range limit.Keys {
		if l.Has(k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// tell notes sentences with what was done in the root group.
func tell(done []Done, told []string) []Done {
	for i := range done {
		if done[i].Part.DeviceWide {
			done[i].Notes = append(done[i].Notes, told...)
		}
	}
	return done
}
