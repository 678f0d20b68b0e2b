package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/limit/hold"
)

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
