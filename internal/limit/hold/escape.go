package hold

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
)

// An Escape is data whose writes get past a limit on them in some modes: on version 1 of control groups, what the kernel writes
// back from the page cache.
type Escape struct {
	// Data is what it is, as a Place's name.
	Data string `json:"data"`
	// Modes are those in which writes are not held, Partly those of them in which a part is, and Why says why.
	Modes  []string `json:"modes"`
	Partly []string `json:"partly"`
	Why    string   `json:"why"`
	// Instead says what would hold them, "" where nothing does.
	Instead string `json:"instead,omitempty"`

	set     limit.Limits
	devices []device.Number
}

// String is the escape in a sentence.
func (e Escape) String() string { return e.Data + ": " + e.Text() }

// Text is the sentence without the data's name.
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

// HeldBy reports whether limits of the root group, by device, hold all that gets past: it comes to the devices under that one.
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

// Escapes are the scope's data of which limits on writes let some through. flag is what a user says to have the root group hold it:
// "--device-wide".
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
			e.Modes, root = append(e.Modes, m.Name), m.Device == explain.Held
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
				e.devices = append(e.devices, d.Number())
			}
		}
		all = append(all, e)
	}
	return all
}

// RootLimits are the limits of the root group by device, none where there is no group that has them.
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
