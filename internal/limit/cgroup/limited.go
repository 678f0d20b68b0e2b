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

// Limited returns the limits of all groups of the machine that have any, sorted by path. Groups with the same path in
// several hierarchies of version 1 are one State. Groups that are removed meanwhile are left out.
func (h *Host) Limited() ([]State, error) {
	p := planner{host: h, target: newTarget("all groups"), diff: &Diff{host: h}, buf: buffers.Get().(*[]byte)}
	defer buffers.Put(p.buf)
	found := map[string]*State{}
	for _, c := range controllers {
		root, err := h.tree.Root(c)
		if errors.Is(err, hierarchy.ErrNone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		groups, err := h.leaves(root)
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			s, err := p.state(c, g)
			if errors.Is(err, ErrGone) || errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if s.Limits.IsZero() && len(s.Devices) == 0 {
				continue
			}
			was := found[g.Path]
			if was == nil {
				found[g.Path] = &s
				continue
			}
			maps.Copy(was.Devices, s.Devices)
			for _, k := range limit.Keys {
				if s.Limits.Has(k) {
					was.Limits = was.Limits.With(k, s.Limits)
				}
			}
		}
	}
	out := make([]State, 0, len(found))
	for _, path := range slices.Sorted(maps.Keys(found)) {
		out = append(out, *found[path])
	}
	return out, nil
}

// state reads a group's limits of one controller.
func (p *planner) state(c hierarchy.Controller, g *hierarchy.Group) (State, error) {
	s := State{Group: g.Path, Version: g.Version, Devices: map[device.Number]limit.Limits{}}
	var err error
	switch c {
	case hierarchy.IO:
		err = p.readIO(g, &s)
		maps.DeleteFunc(s.Devices, func(_ device.Number, l limit.Limits) bool { return l.IsZero() })
	case hierarchy.CPU:
		err = p.readCPU(g, &s.Limits)
	default:
		err = p.readMemory(g, &s.Limits)
	}
	return s, err
}
