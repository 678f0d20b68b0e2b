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
	// Ref is its name on the command line: "docker:web". The subjects of a sample have different ones.
	Ref    string
	Target target.Target
	// Groups are its control groups.
	Groups *cgroup.Target
	// Places are its data. Empty: not known, as for a group named by its path.
	Places []Place
	// Buffered is how much of the buffered writes is charged on devices that belong to no place.
	Buffered explain.Verdict
	// Notes are doubts, a sentence each.
	Notes []string
}

// A Place is a part of a subject's data.
type Place struct {
	// Name describes it: "its own layer", "volume data", "/srv".
	Name string
	// Devices are those directly under the file system, or the whole disk of a partition. Empty: Why is the reason.
	Devices []device.Number
	Why     string
	// Buffered is how much of the buffered writes there is charged to the writer.
	Buffered explain.Verdict
}

// A Volume is a volume that is watched.
type Volume struct {
	// Ref is its name on the command line, Engine and Name are its parts.
	Ref, Engine, Name string
	// Path is its folder on the host.
	Path string
	// Devices are the devices under it; Own is set if nothing else uses them, so that their I/O is the volume's.
	Devices []device.Number
	Own     bool
	// Why is the reason why its I/O can't be told from that of others.
	Why string
	// Users are the Refs of the containers that have it mounted.
	Users []string
}

// PlaceOf describes a part of a target's data.
func PlaceOf(g hold.Place) Place {
	e := g.Explanation
	p := Place{Name: g.Name, Why: e.Why}
	for _, s := range e.Hard {
		p.Devices = append(p.Devices, s.Number)
	}
	if i := slices.IndexFunc(e.Modes, func(m explain.Mode) bool { return m.Name == explain.Buffered }); i >= 0 {
		p.Buffered = e.Modes[i].Group
	}
	return p
}

// buffered is how much of the buffered writes on a device is charged to the subject: the worst of its places there.
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

// leaks reports whether some of the subject's writes may be charged to no group.
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
