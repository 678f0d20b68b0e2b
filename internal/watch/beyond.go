package watch

import (
	"maps"
	"slices"

	"plimsoll/internal/host/cgroupio"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit/cgroup"
)

// Version 2 holds a group to the rates of all groups above it as well: a container without a limit of its own may be held by that of its pod.

// beyond reads what was charged to the groups above a subject's own that hold a rate.
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

// withBeyond adds the deltas of groups above that hold a rate. One that was not read before is left out: what it did before is no part of the
// interval.
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
