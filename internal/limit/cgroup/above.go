package cgroup

import (
	"errors"
	"io/fs"
	"maps"
	"slices"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
)

// Above returns the limits of the groups above a target's own, the nearest first: CPUs and memory, and in version 2
// rates of I/O; version 1 only applies each group's own rates. Weights are left out: their effect depends on other
// groups. Groups that are not visible, such as those above a container's root of control groups, are missing. With
// only, it returns the limits of those controllers.
func (h *Host) Above(t *Target, only ...hierarchy.Controller) ([]State, error) {
	p := planner{host: h, target: t, diff: &Diff{host: h}, buf: buffers.Get().(*[]byte)}
	defer buffers.Put(p.buf)
	var out []State
	for _, c := range controllers {
		g, err := t.Group(c)
		if err != nil || c == hierarchy.IO && g.Version == 1 || len(only) > 0 && !slices.Contains(only, c) {
			continue
		}
		for a := g.Parent(); a != nil; a = a.Parent() {
			s, err := p.state(c, a)
			if errors.Is(err, ErrGone) || errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return out, err
			}
			if s.bounds(); s.Limits.IsZero() && len(s.Devices) == 0 {
				continue
			}
			i := slices.IndexFunc(out, func(o State) bool { return o.Group == s.Group })
			if i < 0 {
				out = append(out, s)
				continue
			}
			maps.Copy(out[i].Devices, s.Devices)
			for _, k := range limit.Keys {
				if s.Limits.Has(k) {
					out[i].Limits = out[i].Limits.With(k, s.Limits)
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b State) int { return len(b.Group) - len(a.Group) })
	return out, nil
}

// bounds drops the values of a state that are no limits by themselves.
func (s *State) bounds() {
	only := func(l limit.Limits) (kept limit.Limits) {
		for _, k := range limit.Keys {
			if l.Has(k) && (k.Rate() || k == limit.CPUs || k == limit.Memory) {
				kept = kept.With(k, l)
			}
		}
		return kept
	}
	s.Limits = only(s.Limits)
	for d, l := range s.Devices {
		s.Devices[d] = only(l)
	}
	maps.DeleteFunc(s.Devices, func(_ device.Number, l limit.Limits) bool { return l.IsZero() })
}
