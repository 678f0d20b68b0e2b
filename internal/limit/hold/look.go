package hold

import (
	"fmt"

	"plimsoll/internal/container/target"
)

// Look returns what is known of a target that was already found: its groups, and the devices of all its data, including
// data that can't be limited, with the reason. It asks neither an engine nor systemd. A target without processes of its
// own, such as a group, has no known data. Errors about the data go into the notes.
func (h *Holder) Look(t target.Target) (*Scope, error) {
	s := &Scope{Target: t}
	if t.Elsewhere != "" {
		return nil, elsewhere(t)
	}
	p, err := h.groupSet(&s.Target)
	if err != nil {
		return nil, err
	}
	s.GroupSets = append(s.GroupSets, p)
	if t.PID == 0 {
		return s, nil
	}
	add := func(name, path string) {
		g, err := h.look(t, name, path)
		if err != nil {
			s.Notes = append(s.Notes, fmt.Sprintf("the device under %s isn't known: %v", name, err))
			return
		}
		s.Places = append(s.Places, g)
	}
	root := "its own layer"
	if t.Kind != target.Container {
		root = "/"
	}
	add(root, "/")
	for _, m := range t.Mounts {
		add(mountName(m), m.Destination)
	}
	return s, nil
}

// mountName returns the name of a mount in texts.
func mountName(m target.Mount) string {
	if m.Volume != "" {
		return "volume " + m.Volume
	}
	return m.Destination
}
