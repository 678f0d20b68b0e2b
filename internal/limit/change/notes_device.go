package change

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/text/clean"
)

// otherDevice says that the container has no visible data on the device that was named for its limits: its data is on
// another device, and the limits hold nothing yet.
func (m *Maker) otherDevice(s *hold.Scope, where Options) (notes []string) {
	if where.Device == "" {
		return nil
	}
	for _, p := range s.GroupSets {
		if p.Target == nil || p.Target.PID == 0 {
			continue
		}
		all, err := m.Look(*p.Target)
		if err != nil || len(all.Places) == 0 {
			continue
		}
		var on []string
		shared := false
		for _, g := range all.Places {
			_, is := sharedDevice(g.Explanation, s.Devices())
			shared = shared || is
			for _, d := range g.Explanation.Hard {
				if !slices.Contains(on, d.Name) {
					on = append(on, d.Name)
				}
			}
		}
		if !shared {
			notes = append(notes, fmt.Sprintf("no data of %s is on %s, so the limit has no effect yet: its data is on %s", p.Name, where.Device, cmp.Or(strings.Join(on, ", "), "no disk")))
		}
	}
	return notes
}

// leftNotes say that the root group still limits devices whose other limits were changed: a daemon sets those limits, or
// has left them.
func (m *Maker) leftNotes(s *hold.Scope, c limit.Change) (notes []string) {
	if s.HasRootGroup() {
		return nil
	}
	all, _ := m.DeviceLimits(m.Machine).List() // Records that can't be read are another note.
	all = slices.DeleteFunc(all, func(n hold.DeviceLimit) bool { return n.Daemon == "" })
	if len(all) == 0 {
		return nil
	}
	on := map[device.Number]bool{}
	for _, d := range s.Devices() {
		on[d.Number] = true
	}
	for _, p := range s.GroupSets {
		if len(on) > 0 || p.Target == nil || p.Target.PID == 0 {
			continue
		}
		if all, err := m.Look(*p.Target); err == nil {
			for _, d := range all.Devices() {
				on[d.Number] = true
			}
		}
	}
	for _, n := range all {
		for _, one := range keeper.ByRule(n, m.Run) {
			if !on[n.Device] || !c.Touches(one.Rules[0].Key) {
				continue
			}
			text := fmt.Sprintf("the root group still has %s=%s on %s, for %s: it limits all that is written to that device", one.Rules[0].Key, one.Limits.Text(one.Rules[0].Key), n.Disk, one.For)
			if keeper.Runs(n.Daemon) {
				text += "; its policy says so"
			} else {
				text += "; plimsoll limit clear --device-wide --device " + clean.Shell(device.NodePath(n.Disk)) + " removes it"
			}
			notes = append(notes, text)
		}
	}
	return notes
}
