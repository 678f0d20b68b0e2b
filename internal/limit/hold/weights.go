package hold

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/host/procfs"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/weight"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/text/refusal"
)

// An Enabled is a disk that was made to divide by weight, by bfq or iocost, for all its users.
type Enabled struct {
	// Disk is its name, and Number its number.
	Disk   string        `json:"disk"`
	Number device.Number `json:"number"`
	// By is weight.ByBFQ or weight.ByIOCost.
	By string `json:"by"`
	// Edits are what was written, with the values before.
	Edits []cgroup.Edit `json:"edits"`
	// Users are the folders of the groups for which it was done. When the last of them has gone, or has no weight any
	// more, it is undone.
	Users []string `json:"users"`
	// Boot is the boot in which it was done; it doesn't outlive it.
	Boot string `json:"boot"`
	Medium
}

// String returns what was changed.
func (e Enabled) String() string {
	var words []string
	for _, x := range e.Edits {
		words = append(words, x.String())
	}
	return fmt.Sprintf("weights take effect on %s by %s: %s", e.Disk, e.By, strings.Join(words, "; "))
}

// Weights makes weights take effect on disks, and undoes that. A disk has an entry in the journal before it is changed,
// because another process may clear the weight.
type Weights struct {
	// FS reports which device has a number.
	FS device.FS
	// Groups writes the files.
	Groups *cgroup.Host
	// Boot is this boot's id.
	Boot    string
	records records[Enabled]
}

// weightsKind is the kind of the journal entries of disks that divide by weight. The id of an entry is the disk's
// number.
const weightsKind = "disk-weights"

// Weights returns the Weights with its journal in the machine's folder.
func (h *Holder) Weights(machine string) *Weights {
	number := func(e Enabled) string { return e.Number.String() }
	return &Weights{h.FS, h.Groups, procfs.Boot(h.FS.Proc), records[Enabled]{journal.In(machine), weightsKind, number}}
}

// Enable makes weights take effect on all disks of a scope where they have no effect yet, by bfq or iocost. If by is
// "", it chooses, bfq first. It returns what it has changed, and a function that undoes only this call; disks that
// divided by weight before stay so. After an error nothing is changed, except on disks that could not be restored: the
// error says so, and their records stay. It refuses disks where a weight would have no effect (Scope.Weight).
func (w *Weights) Enable(ctx context.Context, s *Scope, by string) (done []Enabled, undo func(context.Context) error, err error) {
	groups, err := groupsOf(s)
	if err == nil {
		err = s.Weight()
	}
	if err != nil {
		return nil, nil, err
	}
	joined := map[device.Number][]string{}
	err = w.locked(ctx, func(all *[]Enabled) error {
		for _, d := range s.Weights() {
			n := d.Number
			i := slices.IndexFunc(*all, func(e Enabled) bool { return e.Number == n })
			effect := w.Groups.WeightEffect(groups[0], n)
			if effect.Works() {
				if i >= 0 {
					joined[n] = (*all)[i].add(groups)
				}
				continue
			}
			e, err := w.enable(n, d.Name, by, effect)
			if err == nil {
				e.add(groups)
				if i >= 0 {
					*all = slices.Delete(*all, i, i+1)
				}
				*all, done = append(*all, e), append(done, e)
				err = w.records.keep(ctx, e)
			}
			if err == nil {
				err = w.turnOn(e, groups[0])
			}
			if err != nil {
				return errors.Join(fmt.Errorf("weights on %s: %w", d.Name, err), w.takeBack(all, done, joined))
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return done, func(ctx context.Context) error {
		return w.locked(ctx, func(all *[]Enabled) error { return w.takeBack(all, done, joined) })
	}, nil
}

// takeBack restores disks that were enabled, unless they have other users by now, and removes the users that were added
// to other disks.
func (w *Weights) takeBack(all *[]Enabled, done []Enabled, joined map[device.Number][]string) error {
	var errs []error
	for _, x := range slices.Backward(done) {
		joined[x.Number] = x.Users
	}
	var kept []Enabled
	for _, e := range *all {
		e.Users = slices.DeleteFunc(e.Users, func(dir string) bool { return slices.Contains(joined[e.Number], dir) })
		ours := slices.ContainsFunc(done, func(x Enabled) bool { return x.Number == e.Number })
		if !ours || len(e.Users) > 0 {
			kept = append(kept, e)
			continue
		}
		if !w.Groups.Weighs(e.Number, e.By) {
			continue // Another program has changed it.
		}
		if err := w.Groups.Restore(e.Edits); err != nil {
			errs, kept = append(errs, fmt.Errorf("weights on %s: %w", e.Disk, err)), append(kept, e)
		}
	}
	*all = kept
	return errors.Join(errs...)
}

// enable plans the change for one disk.
func (w *Weights) enable(n device.Number, disk, by string, effect weight.Effect) (Enabled, error) {
	ways := []string{by}
	if by == "" {
		ways = []string{weight.ByBFQ, weight.ByIOCost}
		if effect.Ready && !strings.HasPrefix(effect.Fix, "echo bfq") {
			slices.Reverse(ways) // bfq isn't loaded, and iocost is available.
		}
	}
	var first error
	for _, by := range ways {
		diff, err := w.Groups.PlanWeights(n, by)
		if err == nil {
			// If the device has gone, nothing is turned on.
			m, _ := mediumOf(w.FS, n)
			return Enabled{Disk: disk, Number: n, By: by, Edits: diff.Edits, Boot: w.Boot, Medium: m}, nil
		}
		if first == nil {
			first = err
		}
	}
	return Enabled{}, first
}

// turnOn writes the change, and checks that it has an effect. After an error takeBack restores the disk.
func (w *Weights) turnOn(e Enabled, g *hierarchy.Group) error {
	diff, err := w.Groups.PlanWeights(e.Number, e.By)
	if err != nil {
		return err
	}
	if _, err := diff.Apply(); err != nil {
		return err
	}
	if effect := w.Groups.WeightEffect(g, e.Number); !effect.Works() {
		return &refusal.Error{Act: refusal.Limited, What: "a weight on " + e.Disk, Why: effect.Why, Fix: "limit rates"}
	}
	return nil
}

// add records users, and returns the new ones.
func (e *Enabled) add(groups []*hierarchy.Group) (added []string) {
	for _, g := range groups {
		if !slices.Contains(e.Users, g.Dir) {
			added = append(added, g.Dir)
		}
	}
	e.Users = append(e.Users, added...)
	return added
}

// Undo restores the disks that were enabled for the groups of a scope, unless other groups still use them. It covers
// the scope's disks or, if it names none, all disks. Settings that others have changed since are left alone. It returns
// what was restored. The error includes a journal.DamagedError for each disk whose record can't be read; what it says
// stays.
func (w *Weights) Undo(ctx context.Context, s *Scope) (done []Enabled, err error) {
	groups, err := groupsOf(s)
	if err != nil {
		return nil, nil // It has no such groups, and so no weights.
	}
	list, unread := w.records.list()
	if _, other := journal.Damaged(unread); other == nil && len(list) == 0 {
		return nil, unread
	}
	disks := s.Weights()
	err = w.locked(ctx, func(all *[]Enabled) error {
		var kept []Enabled
		var errs []error
		for _, e := range *all {
			// The change left out the other disks, whose weights stay.
			named := len(disks) == 0 || slices.ContainsFunc(disks, func(d explain.Weight) bool { return e.Number == d.Number })
			e.Users = slices.DeleteFunc(e.Users, func(dir string) bool {
				_, err := os.Stat(dir)
				return errors.Is(err, fs.ErrNotExist) || named && slices.ContainsFunc(groups, func(g *hierarchy.Group) bool { return g.Dir == dir })
			})
			if len(e.Users) > 0 {
				kept = append(kept, e)
				continue
			}
			if !w.Groups.Weighs(e.Number, e.By) {
				continue // Another program has changed it.
			}
			err := w.Groups.Restore(e.Edits)
			if err != nil && slices.ContainsFunc(e.Edits, gone) {
				continue // Nothing but the number was known of the disk, and another disk has that by now.
			}
			if err != nil {
				errs, kept = append(errs, fmt.Errorf("weights on %s: %w", e.Disk, err)), append(kept, e)
				continue
			}
			done = append(done, e)
		}
		*all = kept
		return errors.Join(errs...)
	})
	return done, errors.Join(err, unread)
}

// gone reports whether an edit's file no longer exists.
func gone(e cgroup.Edit) bool {
	_, err := os.Stat(e.File)
	return errors.Is(err, fs.ErrNotExist)
}

// groupsOf returns the I/O groups of a scope, without the root group.
func groupsOf(s *Scope) ([]*hierarchy.Group, error) {
	var groups []*hierarchy.Group
	for _, p := range s.GroupSets {
		if p.DeviceWide {
			continue
		}
		g, err := p.Groups.Group(hierarchy.IO)
		if err != nil {
			return nil, err
		}
		groups = append(groups, g)
	}
	if len(groups) == 0 {
		return nil, &refusal.Error{Act: refusal.Limited, What: s.Target.Ref(), Why: "there is no group that a weight could be given to", Fix: "start a container with the volume"}
	}
	return groups, nil
}

// stands reports whether an enabled disk may still be enabled: in this boot, and on the same device. If another device
// has the number by now, it must not get the values of the earlier one.
func (w *Weights) stands(e Enabled) bool {
	m, err := mediumOf(w.FS, e.Number)
	return e.Boot == w.Boot && !errors.Is(err, fs.ErrNotExist) && (err != nil || e.is(m))
}

// locked lets f change the records of disks that still stand.
func (w *Weights) locked(ctx context.Context, f func(*[]Enabled) error) error {
	return w.records.change(ctx, func(all *[]Enabled) error {
		*all = slices.DeleteFunc(*all, func(e Enabled) bool { return !w.stands(e) })
		return f(all)
	})
}
