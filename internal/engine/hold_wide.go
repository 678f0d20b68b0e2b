package engine

import (
	"errors"
	"fmt"
	"slices"

	"plimsoll/internal/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
)

// A wide is the limit of one device for all who use it: the root group of version 1, which writes back what
// containers left in the page cache. It is in force for a trial, and a sweep removes it if plimsoll was killed meanwhile.
type wide struct {
	groups *cgroup.Host
	root   *cgroup.Target
	device explain.Spot
	// limits are the sums over all who asked.
	limits  limit.Limits
	journal journal
	entry   leftover
}

// A rootLimit is what a killed plimsoll may have left in the root group.
type rootLimit struct {
	Device cgroup.Device `json:"device"`
	Limits limit.Limits  `json:"limits"`
}

// rateKeys lists the keys of rates that l has.
func rateKeys(l limit.Limits) (keys []limit.Key) {
	for _, k := range limit.Keys {
		if k.Rate() && l.Has(k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// rootGroup is the group that is told of a device's own limit. Version 2 has none, and needs none: it charges buffered
// writes to who wrote them. One that has a limit for the device already is somebody else's, and is left alone.
func (g *ground) rootGroup() (*cgroup.Target, error) {
	root, err := g.groups.Device()
	if errors.Is(err, cgroup.ErrUnsupported) {
		return nil, nil
	}
	keys := rateKeys(g.io.asked)
	if err != nil {
		return nil, g.io.no(keys, err.Error(), "")
	}
	states, err := g.groups.Read(root)
	if err != nil {
		return nil, fmt.Errorf("read the limits of the root group: %w", err)
	}
	for _, d := range g.where.Hard {
		n := cgroup.Device{Major: d.Major, Minor: d.Minor}
		if has := states[0].Devices[n]; !has.IsZero() {
			return nil, g.io.no(keys, fmt.Sprintf("%s has a limit in the root group already, which is somebody else's (%s)", d.Name, has), "remove it first, or leave out device_wide")
		}
	}
	return root, nil
}

// holdWide sets the limits of devices for those grounds that ask for them.
func holdWide(grounds []*ground) (all []*wide, err error) {
	for _, g := range grounds {
		if !g.io.asked.DeviceWide {
			continue
		}
		for _, d := range g.where.Hard {
			i := slices.IndexFunc(all, func(w *wide) bool { return w.device.Number() == d.Number() })
			if i < 0 {
				root, err := g.rootGroup()
				if err != nil || root == nil {
					return nil, err
				}
				i = len(all)
				all = append(all, &wide{groups: g.groups, root: root, device: d, journal: g.io.journal,
					entry: leftover{ID: "device-" + g.io.id + "-" + fmt.Sprint(i), Engine: g.io.engine, Owner: Self()}})
			}
			for _, k := range rateKeys(g.io.asked) {
				all[i].add(k, g.io.asked)
			}
		}
	}
	for i, w := range all {
		if err := w.hold(); err != nil {
			return all[:i], err
		}
	}
	return all, nil
}

// add adds what one more client may do.
func (w *wide) add(k limit.Key, l limit.Limits) {
	for _, f := range []struct {
		key limit.Key
		to  *int64
		n   int64
	}{
		{limit.ReadBPS, &w.limits.ReadBPS, l.ReadBPS}, {limit.WriteBPS, &w.limits.WriteBPS, l.WriteBPS},
		{limit.ReadIOPS, &w.limits.ReadIOPS, l.ReadIOPS}, {limit.WriteIOPS, &w.limits.WriteIOPS, l.WriteIOPS},
	} {
		if f.key == k {
			*f.to += f.n
		}
	}
}

func (w *wide) number() cgroup.Device {
	return cgroup.Device{Major: w.device.Major, Minor: w.device.Minor}
}

// hold notes the limit and then sets it.
func (w *wide) hold() error {
	w.entry.Root = &rootLimit{w.number(), w.limits}
	if err := w.journal.note(w.entry); err != nil {
		return err
	}
	_, err := w.groups.Hold(w.root, cgroup.Want{Change: limit.Change{Set: w.limits}, Devices: []cgroup.Device{w.number()}})
	if err != nil {
		return errors.Join(fmt.Errorf("limit %s for all who use it: %w", w.device.Name, err), w.journal.forget(w.entry.ID))
	}
	return nil
}

// release removes the limit and its note.
func (w *wide) release() error {
	if err := removeRootLimit(w.groups, w.root, *w.entry.Root); err != nil {
		return err
	}
	return w.journal.forget(w.entry.ID)
}

// applied is the limit as records have it.
func (w *wide) applied() (list []limit.Applied) {
	for _, k := range rateKeys(w.limits) {
		list = append(list, limit.Applied{Key: k, Value: w.limits.Number(k), Device: w.device.Name, Number: w.device.Number(), By: limit.ByDevice, Group: "/"})
	}
	return list
}

// removeRootLimit removes what was set in the root group, unless somebody has set something else since, or
// the device is gone.
func removeRootLimit(groups *cgroup.Host, root *cgroup.Target, l rootLimit) error {
	states, err := groups.Read(root)
	if err != nil {
		return fmt.Errorf("read the limits of the root group: %w", err)
	}
	var keys []limit.Key
	for _, k := range rateKeys(l.Limits) {
		if states[0].Devices[l.Device].Number(k) == l.Limits.Number(k) {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	if _, err := groups.Hold(root, cgroup.Want{Change: limit.Change{Remove: keys}, Devices: []cgroup.Device{l.Device}}); err != nil {
		return fmt.Errorf("remove the limit of device %s from the root group: %w", l.Device, err)
	}
	return nil
}

// sweepRootLimit removes what a killed plimsoll left in the root group of this machine.
func sweepRootLimit(l rootLimit) error {
	groups, err := cgroup.Open(device.Host())
	if err != nil {
		return nil // There are no groups any more, and no limits.
	}
	root, err := groups.Device()
	if err != nil {
		return nil
	}
	return removeRootLimit(groups, root, l)
}
