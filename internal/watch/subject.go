package watch

import (
	"slices"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
)

// A Subject is something with control groups that is watched.
type Subject struct {
	// Ref is the way to name it: "docker:web". Subjects of one sample have different ones.
	Ref    string
	Target target.Target
	// Groups are its control groups.
	Groups *cgroup.Target
	// Places are what its data lies on. Empty: it isn't known, as of a group that was named by its path.
	Places []Place
	// Buffered is how much of buffered writes is charged where a device is none of the places'.
	Buffered explain.Verdict
	// Notes are doubts, a sentence each.
	Notes []string
}

// A Place is a part of a subject's data.
type Place struct {
	// Name describes it: "its own layer", "volume data", "/srv".
	Name string
	// Devices are those right under the file system, the whole disk of a partition. Empty: Why says why there are none.
	Devices []device.Number
	Why     string
	// Buffered is how much of the buffered writes there is charged to the writer.
	Buffered explain.Verdict
}

// A Volume is a volume that is watched.
type Volume struct {
	// Ref is the way to name it, Engine and Name what it is.
	Ref, Engine, Name string
	// Path is its folder on the host.
	Path string
	// Devices are those that it lies on, Own whether nothing else does: what such a device does is the volume's.
	Devices []device.Number
	Own     bool
	// Why is the reason why it is not told apart from others.
	Why string
	// Users are the Refs of the containers that have it mounted.
	Users []string
}

// PlaceOf is what is known of a part of a target's data.
func PlaceOf(g hold.Ground) Place {
	e := g.Explanation
	p := Place{Name: g.Name, Why: e.Why}
	for _, s := range e.Hard {
		p.Devices = append(p.Devices, s.Number())
	}
	if i := slices.IndexFunc(e.Modes, func(m explain.Mode) bool { return m.Name == explain.Buffered }); i >= 0 {
		p.Buffered = e.Modes[i].Group
	}
	return p
}

// buffered reports how much of the buffered writes on a device is charged to the subject: the worst of the places on it.
func (s *Subject) buffered(n device.Number) explain.Verdict {
	v := explain.Verdict("")
	for _, p := range s.Places {
		if !slices.Contains(p.Devices, n) || p.Buffered == explain.Never {
			continue
		}
		if v == "" || p.Buffered == explain.Leaks {
			v = p.Buffered
		}
	}
	if v == "" {
		return s.Buffered
	}
	return v
}

// leaks reports whether writes of the subject may be charged to no group.
func (s *Subject) leaks() bool {
	if len(s.Places) == 0 {
		return s.Buffered == explain.Leaks
	}
	return slices.ContainsFunc(s.Places, func(p Place) bool { return p.Buffered == explain.Leaks || p.Buffered == explain.Partly })
}

// on names the places on a device.
func (s *Subject) on(n device.Number) (names []string) {
	for _, p := range s.Places {
		if slices.Contains(p.Devices, n) {
			names = append(names, p.Name)
		}
	}
	return names
}
