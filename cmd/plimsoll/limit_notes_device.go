package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
)

// heldInRoot reports whether the root group has limits on writes, for all devices of a path, that hold what is set: what gets
// past a container's group comes to the device under that one (version 1).
func heldInRoot(e *explain.Explanation, set limit.Limits, inRoot map[cgroup.Device]limit.Limits) bool {
	devices := 0
	for _, d := range e.Hard {
		if d.ReadsOnly {
			continue
		}
		devices++
		has := inRoot[cgroup.Device{Major: d.Major, Minor: d.Minor}]
		for _, k := range []limit.Key{limit.WriteBPS, limit.WriteIOPS} {
			if set.Has(k) && (!has.Has(k) || *has.Whole(k) > *set.Whole(k)) {
				return false
			}
		}
	}
	return devices > 0
}

// otherDevice says that nothing of a container is on the device that was named for its limits, as far as can be seen: it is on
// another one, and the limits hold nothing yet.
func (l *limiter) otherDevice(s *hold.Scope, where limitWhere) (notes []string) {
	if where.Device == "" {
		return nil
	}
	for _, p := range s.Parts {
		if p.Target == nil || p.Target.PID == 0 {
			continue
		}
		all, err := l.Look(*p.Target)
		if err != nil || len(all.Grounds) == 0 {
			continue
		}
		var on []string
		shared := false
		for _, g := range all.Grounds {
			_, is := sharedDevice(g.Explanation, s.Devices())
			shared = shared || is
			for _, d := range g.Explanation.Hard {
				if !slices.Contains(on, d.Name) {
					on = append(on, d.Name)
				}
			}
		}
		if !shared {
			notes = append(notes, fmt.Sprintf("nothing of %s is on %s, so that nothing is held as yet: its data is on %s", p.Name, where.Device, cmp.Or(strings.Join(on, ", "), "no disk")))
		}
	}
	return notes
}
