package hold

import (
	"errors"
	"fmt"
	"slices"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
)

// want is what a part shall have for a change.
func (s *Scope) want(p Part, c limit.Change) cgroup.Want {
	w := cgroup.Want{Change: c}
	if p.DeviceWide {
		w.Change = rates(c)
	}
	for _, d := range s.Devices() {
		w.Devices = append(w.Devices, cgroup.Device{Major: d.Major, Minor: d.Minor})
	}
	for _, g := range s.Grounds {
		for _, d := range g.Explanation.Weights {
			if n := (cgroup.Device{Major: d.Major, Minor: d.Minor}); !slices.Contains(w.WeightDevices, n) {
				w.WeightDevices = append(w.WeightDevices, n)
			}
		}
	}
	return w
}

// rates is the part of a change that the root group can be told.
func rates(c limit.Change) limit.Change {
	var out limit.Change
	out.Set = limit.Limits{Name: c.Set.Name, ReadBPS: c.Set.ReadBPS, WriteBPS: c.Set.WriteBPS, ReadIOPS: c.Set.ReadIOPS, WriteIOPS: c.Set.WriteIOPS}
	for _, k := range c.Remove {
		if k.Rate() {
			out.Remove = append(out.Remove, k)
		}
	}
	return out
}

// A Done is what became of one part.
type Done struct {
	Part   Part         `json:"part"`
	Diff   *cgroup.Diff `json:"diff"`
	Writes int          `json:"writes"`
}

// Plan says what would be written for a change, and writes nothing.
func (h *Holder) Plan(s *Scope, c limit.Change) ([]Done, error) {
	var all []Done
	for _, p := range s.Parts {
		if p.Target != nil && p.Target.PID != 0 {
			// Its number may be another's by now, and so may its groups.
			if err := h.Finder.Alive(*p.Target); err != nil {
				return nil, err
			}
		}
		d, err := h.Groups.Plan(p.Groups, s.want(p, c))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		all = append(all, Done{Part: p, Diff: d})
	}
	return all, nil
}

// Apply makes a change in all parts, or in none. A container may make groups while its others are written: what
// it has made by the end is written too.
func (h *Holder) Apply(s *Scope, c limit.Change) ([]Done, error) {
	all, err := h.Plan(s, c)
	if err != nil {
		return nil, err
	}
	for i := range all {
		n, err := all[i].Diff.Apply()
		all[i].Writes = n
		if err != nil {
			for _, before := range slices.Backward(all[:i]) {
				err = before.Diff.Undo(err)
			}
			return nil, fmt.Errorf("%s: %w", all[i].Part.Name, err)
		}
	}
	for i, d := range all {
		n, err := h.Groups.Hold(d.Part.Groups, s.want(d.Part, c))
		all[i].Writes += n
		if err != nil && !errors.Is(err, cgroup.ErrGone) {
			return all, fmt.Errorf("%s: %w", d.Part.Name, err)
		}
	}
	return all, nil
}
