package watch

import (
	"maps"
	"slices"

	"plimsoll/internal/host/cgroupio"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit/cgroup"
)

// Version 2 also applies the rates of all groups above: the limit of a container's pod may hold a container without a
// limit of its own.

// beyond reads the charges of the groups above a subject's own that have a rate.
func (s *Sampler) beyond(r *Reading) {
	g, err := r.Subject.Groups.Group(hierarchy.IO)
	if err != nil {
		return
	}
	for a := g.Parent(); a != nil; a = a.Parent() {
		if !slices.ContainsFunc(r.Above, func(s cgroup.State) bool { return s.Group == a.Path && len(s.Devices) > 0 }) {
			continue
		}
		all, err := cgroupio.GroupCounters(a, s.read)
		if err != nil {
			continue
		}
		if r.Beyond == nil {
			r.Beyond = map[string]map[device.Number]cgroupio.Counters{}
		}
		r.Beyond[a.Path] = all
	}
}

// withBeyond adds the deltas of groups above that have a rate. A group that was not read before is left out, since
// its earlier I/O is no part of the interval.
func (p pair) withBeyond(a, b *Reading, deltas map[string]map[device.Number]cgroupio.Counters) map[string]map[device.Number]cgroupio.Counters {
	if len(a.Beyond) == 0 {
		return deltas
	}
	all := maps.Clone(deltas)
	if b != nil && len(b.Beyond) > 0 {
		now := maps.Clone(a.Beyond)
		maps.DeleteFunc(now, func(path string, _ map[device.Number]cgroupio.Counters) bool { return b.Beyond[path] == nil })
		maps.Copy(all, p.between(now, b.Beyond))
	}
	return all
}
