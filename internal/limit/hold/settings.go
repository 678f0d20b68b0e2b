package hold

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/host/procfs"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/state/journal"
)

// A Setting records a limit that plimsoll limit set has set in a group. It only says who set the limit; nothing is
// undone by it.
type Setting struct {
	// Group is the group's path, and Value the limit as text.
	Group string    `json:"group"`
	Key   limit.Key `json:"key"`
	Value string    `json:"value"`
	// Device is nil for limits that aren't for a device.
	Device *device.Number `json:"device,omitempty"`
	// At is when it was set, Boot the boot in which it was set.
	At   time.Time `json:"at"`
	Boot string    `json:"boot"`
	// Top is the folder of the target's own group, and Inode its inode, because another group may get the same name.
	Top   string `json:"top"`
	Inode uint64 `json:"inode"`
	// GroupBytes and TopBytes are Group and Top if those are not UTF-8, which JSON can't carry: a group's name may
	// contain any bytes.
	GroupBytes []byte `json:"group_bytes,omitempty"`
	TopBytes   []byte `json:"top_bytes,omitempty"`
}

// Settings records what plimsoll limit set has set. An entry covers one target's own group and the groups below it.
type Settings struct {
	groups  *cgroup.Host
	boot    string
	records records[[]Setting]
}

// settingsKind is the kind of the journal entries. The id of an entry is the inode of the target's group.
const settingsKind = "limit-set"

// Settings returns what is recorded in the machine's folder.
func (h *Holder) Settings(machine string) *Settings {
	inode := func(of []Setting) string { return strconv.FormatUint(of[0].Inode, 10) }
	return &Settings{h.Groups, procfs.Boot(h.FS.Proc), records[[]Setting]{journal.In(machine), settingsKind, inode}}
}

// List returns the records of groups that still exist.
func (s *Settings) List() ([]Setting, error) {
	all, err := s.records.list()
	return s.standing(all), err
}

// standing returns the settings of groups that still exist.
func (s *Settings) standing(all [][]Setting) (list []Setting) {
	for _, n := range slices.Concat(all...) {
		if len(n.GroupBytes) > 0 {
			n.Group = string(n.GroupBytes)
		}
		if len(n.TopBytes) > 0 {
			n.Top = string(n.TopBytes)
		}
		if n.Boot == s.boot && n.Inode != 0 && hierarchy.Inode(n.Top) == n.Inode {
			list = append(list, n)
		}
	}
	return list
}

// byGroup divides settings by their target's group.
func byGroup(list []Setting) (all [][]Setting) {
	for _, n := range list {
		i := slices.IndexFunc(all, func(of []Setting) bool { return of[0].Inode == n.Inode })
		if i < 0 {
			i, all = len(all), append(all, nil)
		}
		all[i] = append(all[i], n)
	}
	return all
}

// Is reports whether the setting is the limit of a group with this value. If the value differs, another program has set
// it since.
func (n Setting) Is(group string, d *device.Number, k limit.Key, value string) bool {
	return n.Group == group && n.Key == k && n.Value == value && (n.Device == nil) == (d == nil) && (d == nil || *n.Device == *d)
}

// Note records a change that was made to a scope. It records what the kernel has in the scope's groups at that time; a
// rate that another program has changed already is not recorded.
func (s *Settings) Note(ctx context.Context, scope *Scope, change limit.Change) error {
	return s.records.change(ctx, func(recorded *[][]Setting) error {
		all := s.standing(*recorded)
		for _, p := range scope.GroupSets {
			if p.DeviceWide {
				continue // The root group has records of its own.
			}
			top, err := topOf(p.Groups)
			if err != nil {
				continue
			}
			states, err := s.groups.Read(p.Groups)
			if errors.Is(err, cgroup.ErrGone) {
				continue
			}
			if err != nil {
				return err
			}
			for _, state := range states {
				all = noted(all, Setting{Group: state.Group, At: time.Now(), Boot: s.boot, Top: top, Inode: hierarchy.Inode(top)}, nil, state.Limits, change)
				for d, has := range state.Devices {
					all = noted(all, Setting{Group: state.Group, Device: &d, At: time.Now(), Boot: s.boot, Top: top, Inode: hierarchy.Inode(top)}, &d, has, scope.on(d, change))
				}
			}
			all = slices.DeleteFunc(all, func(n Setting) bool { return n.Top == top && changed(n, states) })
		}
		for i, n := range all {
			if !utf8.ValidString(n.Group) {
				all[i].GroupBytes = []byte(n.Group)
			}
			if !utf8.ValidString(n.Top) {
				all[i].TopBytes = []byte(n.Top)
			}
		}
		*recorded = byGroup(all)
		return nil
	})
}

// on returns the part of a change that is made on a device: a weight is set on the disks that divide by it, which may lie
// below the devices of the other limits.
func (s *Scope) on(d device.Number, c limit.Change) limit.Change {
	weighs := slices.ContainsFunc(s.Weights(), func(w explain.Weight) bool { return w.Number == d })
	limited := slices.ContainsFunc(s.Devices(), func(o explain.Spot) bool { return o.Number == d })
	other := func(k limit.Key) bool { return k == limit.Weight && !weighs || k != limit.Weight && !limited }
	c.Set = c.Set.Without(slices.DeleteFunc(slices.Clone(limit.Keys), func(k limit.Key) bool { return !other(k) })...)
	c.Remove = slices.DeleteFunc(slices.Clone(c.Remove), other)
	return c
}

// noted replaces the recorded limits of a group, or of a group on a device, that a change touches.
func noted(all []Setting, n Setting, d *device.Number, has limit.Limits, change limit.Change) []Setting {
	for _, k := range limit.Keys {
		if !change.Touches(k) {
			continue
		}
		all = slices.DeleteFunc(all, func(o Setting) bool { return o.Is(n.Group, d, k, o.Value) })
		// The kernel keeps rates as they are written: a different value was set by another program since, such as the
		// daemon.
		if change.Set.Has(k) && has.Has(k) && (!k.Rate() || has.Text(k) == change.Set.Text(k)) {
			n.Key, n.Value = k, has.Text(k)
			all = append(all, n)
		}
	}
	return all
}

// changed reports whether the kernel no longer has a recorded limit, or has another value.
func changed(n Setting, states []cgroup.State) bool {
	for _, s := range states {
		has := s.Limits
		if n.Device != nil {
			has = s.Devices[*n.Device]
		}
		if s.Group == n.Group && has.Has(n.Key) && has.Text(n.Key) == n.Value {
			return false
		}
	}
	return true
}

// topOf returns the folder of a target's own I/O group, or of its first group if it has none.
func topOf(t *cgroup.Target) (string, error) {
	for _, c := range []hierarchy.Controller{hierarchy.IO, hierarchy.Memory, hierarchy.CPU} {
		if g, err := t.Group(c); err == nil {
			return g.Dir, nil
		}
	}
	return "", fs.ErrNotExist
}
