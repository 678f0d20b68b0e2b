package hold

import (
	"fmt"

	"plimsoll/internal/container/target"
)

// Look finds what is known of a target that was found already: its groups, and all that its data lies on, also what can't be
// limited, and why. It asks no engine, and not systemd. A target without processes of its own, such as a group, has no
// data that is known. What goes wrong with the data is among the notes.
func (h *Holder) Look(t target.Target) (*Scope, error) {
	s := &Scope{Target: t}
	if t.Elsewhere != "" {
		return nil, elsewhere(t)
	}
	p, err := h.groupSet(s, &s.Target)
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

// mountName is what a mount is called.
func mountName(m target.Mount) string {
	if m.Volume != "" {
		return "volume " + m.Volume
	}
	return m.Destination
}
