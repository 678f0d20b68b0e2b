package hold

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
)

// An Escape is data whose writes get past a limit in some modes. With version 1 of control groups, that is what the
// kernel writes back from the page cache.
type Escape struct {
	// Data is the name of the data, as in Place.Name.
	Data string `json:"data"`
	// Modes are the modes in which writes are not held. Partly are the ones among them in which a part is held. Why is
	// the reason.
	Modes  []string `json:"modes"`
	Partly []string `json:"partly"`
	Why    string   `json:"why"`
	// Instead says what would hold the writes, "" if nothing does.
	Instead string `json:"instead,omitempty"`

	set     limit.Limits
	devices []device.Number
}

// String returns the escape as a sentence.
func (e Escape) String() string { return e.Data + ": " + e.Text() }

// Text returns the sentence without the name of the data.
func (e Escape) Text() string {
	not := slices.DeleteFunc(slices.Clone(e.Modes), func(m string) bool { return slices.Contains(e.Partly, m) })
	var how []string
	if len(not) > 0 {
		how = append(how, "NOT held in the mode "+strings.Join(not, ", "))
	}
	if len(e.Partly) > 0 {
		how = append(how, "held only in part in the mode "+strings.Join(e.Partly, ", "))
	}
	s := fmt.Sprintf("writes are %s: %s", strings.Join(how, ", and "), e.Why)
	if e.Instead != "" {
		s += "; " + e.Instead
	}
	return s
}

// HeldBy reports whether the limits of the root group, by device, hold all writes that escape: on each device that they
// reach, the root group has a limit no higher than the one they get past.
func (e Escape) HeldBy(root map[device.Number]limit.Limits) bool {
	for _, d := range e.devices {
		has := root[d]
		for _, k := range []limit.Key{limit.WriteBPS, limit.WriteIOPS} {
			if e.set.Has(k) && (!has.Has(k) || *has.Whole(k) > *e.set.Whole(k)) {
				return false
			}
		}
	}
	return len(e.devices) > 0
}

// Escapes returns the scope's data for which limits on writes let some through. flag is the option by which a user
// makes the root group hold it: "--device-wide".
func (s *Scope) Escapes(set limit.Limits, flag string) (all []Escape) {
	if !set.Has(limit.WriteBPS) && !set.Has(limit.WriteIOPS) || s.HasRootGroup() {
		return nil
	}
	for _, g := range s.Places {
		e, root := Escape{Data: g.Name, set: set}, false
		var why []string
		for _, m := range g.Explanation.Modes {
			if m.Name == explain.Read || m.Group != explain.Leaks && m.Group != explain.Partly {
				continue
			}
			e.Modes, root = append(e.Modes, m.Name), m.Device == explain.Covered
			if m.Group == explain.Partly {
				e.Partly = append(e.Partly, m.Name)
			}
			if !slices.Contains(why, m.Why) {
				why = append(why, m.Why)
			}
		}
		e.Why = strings.Join(why, "; ")
		if len(e.Modes) == 0 {
			continue
		}
		others := g.Explanation.Others()
		switch {
		case root && len(others) == 0:
			e.Instead = flag + " holds them too"
		case root && !slices.Contains(others, "/"):
			e.Instead = flag + " holds them too, for all writers of the device (" + strings.Join(others, ", ") + ")"
		case root:
			e.Instead = "give the data a device of its own, on which " + flag + " holds them (docs/how-to/own-device.md shows how)"
		}
		for _, d := range g.Explanation.Hard {
			if !d.ReadsOnly {
				e.devices = append(e.devices, d.Number)
			}
		}
		all = append(all, e)
	}
	return all
}

// RootLimits returns the limits of the root group by device, or none if there is no such group.
func (h *Holder) RootLimits() map[device.Number]limit.Limits {
	groups, err := h.Groups.Device()
	if err != nil {
		return nil
	}
	states, err := h.Groups.Read(groups)
	if err != nil || len(states) == 0 {
		return nil
	}
	return states[0].Devices
}
