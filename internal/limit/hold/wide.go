package hold

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/text/clean"
)

// A Wide is the note of a device-wide limit: one in the root group of version 1, which applies to all users of a device. It names
// the target for which the limit was set. The kernel doesn't record that, and the limit outlives the target.
type Wide struct {
	// For is the target's reference: "volume:docker:data".
	For string `json:"for"`
	// ForBytes is For where that is no UTF-8, which JSON can't carry: a group's name may have any bytes.
	ForBytes []byte `json:"for_bytes,omitempty"`
	// Device is the disk's number, and Disk its name.
	Device device.Number `json:"device"`
	Disk   string        `json:"disk"`
	// Limits are the rates.
	Limits limit.Limits `json:"limits"`
	// Prior are the rates that the kernel had for it before these, until these are written: one who is killed in between leaves them there.
	Prior limit.Limits `json:"prior,omitzero"`
	// Boot is the boot in which they were set: they don't outlive it.
	Boot string `json:"boot"`
	Medium
	// By is the process that has them while it runs, nil for a target's.
	By *Process `json:"by,omitempty"`
	// Former is set where the number is another device's by now, and the kernel still has the limits for it.
	Former bool `json:"-"`
	// Gone is set beside Former where the number is no device's by now: it is one with nothing in it.
	Gone bool `json:"-"`
	// Ended is set where the process that has them was killed, and the kernel may still have them.
	Ended bool `json:"-"`
}

// String says what was set, and where: "write_bps=6MiB on loop1 (7:1)".
func (w Wide) String() string { return fmt.Sprintf("%s on %s (%s)", w.Limits, w.Disk, w.Device) }

// has reports whether a rate of the kernel's, as text, is w's: as it is noted, or as it was before that.
func (w Wide) has(k limit.Key, text string) bool {
	return w.Limits.Has(k) && (w.Limits.Text(k) == text || w.Prior.Has(k) && w.Prior.Text(k) == text)
}

// Wides notes for whom limits of the root group were set, and takes them away with that target's others. Where several
// targets have one on a disk, that of the last is in force, and those before come back. What somebody else has set there
// is left as it is.
type Wides struct {
	fs     device.FS
	groups *cgroup.Host
	boot   string
	notes  notebook[Wide]
}

// Wides returns the notes in a folder.
func (h *Holder) Wides(folder string) *Wides { return NewWides(h.FS, h.Groups, folder) }

// NewWides returns the notes in a folder of a machine's root group. Without a folder nothing is noted.
func NewWides(fs device.FS, groups *cgroup.Host, folder string) *Wides {
	w := &Wides{fs, groups, device.Text(fs.Proc, "sys", "kernel", "random", "boot_id"), notebook[Wide]{
		about:   "which limits of the root group were set, and for whom",
		instead: "; the root group's files blkio.throttle.*_device show its limits, and plimsoll limit clear TARGET --device DISK --device-wide removes them",
	}}
	if folder != "" {
		w.notes.file = filepath.Join(folder, "device-wide.json")
	}
	return w
}

// List returns what is noted and still there: of this boot, on disks that this machine has, the last that was set last. A number
// that is another device's by now keeps what the kernel still has for it: that of a loop device does so.
func (w *Wides) List() ([]Wide, error) {
	all, err := w.notes.read()
	if err != nil {
		return nil, err
	}
	var list []Wide
	var now map[device.Number]limit.Limits
	for _, n := range all {
		if len(n.ForBytes) > 0 {
			n.For = string(n.ForBytes)
		}
		m, err := mediumOf(w.fs, n.Device)
		if n.Boot != w.boot || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && !n.is(m) {
			if now == nil {
				if _, now, err = w.now(); err != nil {
					return nil, err
				}
			}
			n.Former, n.Gone = true, vacant(w.fs, n.Device)
			n.Limits = n.Limits.Without(slices.DeleteFunc(keysOf(n.Limits), func(k limit.Key) bool { return n.has(k, now[n.Device].Text(k)) })...)
			if len(keysOf(n.Limits)) == 0 {
				continue
			}
		}
		n.Ended = n.By != nil && n.By.ended(w.fs)
		list = append(list, n)
	}
	return list, nil
}

// While calls f with what List returns, and nobody changes that until f has returned. Others who do so are waited for until ctx ends.
func (w *Wides) While(ctx context.Context, f func(all []Wide) error) error {
	return w.notes.locked(ctx, func() error {
		all, err := w.List()
		if err != nil {
			return err
		}
		return f(all)
	})
}

// Last is the note of a key on a disk that was made last and is in force unless somebody else has set something there: nil if there is
// none. What was set for a device that had the number before is not for this one, and what a killed process has left is nobody's.
func Last(all []Wide, d device.Number, k limit.Key) *Wide {
	return last(all, d, k, func(o Wide) bool { return !o.Former && !o.Ended })
}

// now is the root group, and what it has for each device; nothing with version 2, whose root group has no limits.
func (w *Wides) now() (*cgroup.Target, map[device.Number]limit.Limits, error) {
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
	if err != nil && !s.HasWide() {
		// The target's own limits have nothing to do with that.
		done, failed := apply()
		if len(done) > 0 {
			done[0].Notes = append(done[0].Notes, fmt.Sprintf("its limits in the root group are not known, and left: %v", err))
		}
		return done, failed
	}
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
	if !s.HasWide() && !slices.ContainsFunc(all, func(n Wide) bool { return n.For == s.Owner() }) {
		return apply() // The notes don't change, and a folder that can't be written is no matter.
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
		_, now, err := w.now()
		if err != nil {
			return nil, err
		}
		noted, told = w.add(noted, s, r.Set, now)
	}
	after, mine := written(noted, s.Owner()), []Wide(nil)
	for _, n := range all {
		if len(s.Grounds) > 0 && !slices.ContainsFunc(s.Devices(), func(d explain.Spot) bool { return d.Number() == n.Device }) {
			continue
		}
		switch {
		case s.HasWide(): // The change itself removes them, whoever's they are.
			if both := n.only(r.Remove); n.For != s.Owner() && !n.Former && !n.Ended && !both.Limits.IsZero() {
				told = append(told, fmt.Sprintf("%s was set there for %s, and this removed it too; to clear only the limits of %s: plimsoll limit clear %s", both, n.For, s.Owner(), clean.Shell(s.Owner())))
			}
			after = without(after, n, r.Remove)
		case n.For == s.Owner():
			mine, after = append(mine, n.only(r.Remove)), without(after, n, r.Remove)
		}
	}
	if dry {
		extra, _, err := w.release(all, after, mine, true)
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
	extra, back, err := w.release(all, after, mine, false)
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
		for _, n := range all {
			if slices.ContainsFunc(list, func(o Wide) bool { return o.For == n.For && o.Device == n.Device }) {
				mine, after = append(mine, n.only(c.Remove)), without(after, n, c.Remove)
			}
		}
		var back func() error
		if done, back, err = w.release(all, after, mine, dry); err != nil || dry {
			return err
		}
		if err := w.notes.write(after); err != nil {
			return errors.Join(err, back())
		}
		return nil
	}
	if dry {
		return done, change()
	}
	err = w.notes.locked(ctx, change)
	return done, err
}

// add notes what a scope's change sets in the root group, and says whose limits there it takes the place of. now is what the kernel has.
func (w *Wides) add(all []Wide, s *Scope, set limit.Limits, now map[device.Number]limit.Limits) (noted []Wide, told []string) {
	for _, d := range s.Devices() {
		mine := ratesOn(d, set)
		if mine.IsZero() {
			continue
		}
		n := Wide{For: s.Owner(), Device: d.Number(), Disk: d.Name, Limits: mine, Boot: w.boot}
		// One that goes meanwhile is refused by the kernel.
		n.Medium, _ = mediumOf(w.fs, n.Device)
		if !utf8.ValidString(n.For) {
			n.ForBytes = []byte(n.For)
		}
		for _, o := range all {
			if o.Device != n.Device {
				continue
			}
			both := o.only(keysOf(mine))
			switch {
			case o.For == n.For:
				for _, k := range keysOf(o.Limits) {
					switch {
					case !n.Limits.Has(k):
						n.Limits = n.Limits.With(k, o.Limits)
					case o.Prior.Has(k) && o.Prior.Text(k) == now[n.Device].Text(k):
						n.Prior = n.Prior.With(k, o.Prior) // Its last change was never made.
					default:
						n.Prior = n.Prior.With(k, o.Limits)
					}
				}
			case o.Former:
				if o.Limits = o.Limits.Without(keysOf(mine)...); !o.Limits.IsZero() {
					told = append(told, o.Still(""))
				}
			case both.Limits.IsZero():
			case o.Ended:
				told = append(told, fmt.Sprintf("%s was left there by %s, which was killed; it does not come back", both, o.For))
			default:
				told = append(told, fmt.Sprintf("%s was set there for %s, and comes back when this is cleared", both, o.For))
			}
		}
		for _, k := range keysOf(mine) {
			if is := last(all, n.Device, k, func(Wide) bool { return true }); now[n.Device].Has(k) && (is == nil || !is.has(k, now[n.Device].Text(k))) {
				told = append(told, fmt.Sprintf("another program set %s=%s there (plimsoll run and plimsoll daemon do so too), and may set or remove it again", k, now[n.Device].Text(k)))
			}
		}
		all = append(slices.DeleteFunc(all, func(o Wide) bool { return o.For == n.For && o.Device == n.Device }), n)
	}
	return all, told
}

// written is what is noted when a change for a target has been written: nothing that was before it is left.
func written(all []Wide, owner string) []Wide {
	all = slices.Clone(all)
	for i := range all {
		if all[i].For == owner {
			all[i].Prior = limit.Limits{}
		}
	}
	return all
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
