package keeper

import (
	"slices"
	"strings"
	"time"

	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit/cgroup"
)

// drifts counts restored limits: once for all that were changed together, and once for each limit.
func (e *entry) drifts(edits []cgroup.Edit) {
	edits = slices.DeleteFunc(edits, func(x cgroup.Edit) bool { return e.below(&x) })
	if len(edits) == 0 {
		return
	}
	var texts []string
	for _, x := range edits {
		texts = append(texts, x.String())
	}
	e.drift++
	e.lastDrift, e.drifted = time.Now(), strings.Join(texts, "; ")
	for s, h := range e.held {
		if slices.ContainsFunc(edits, func(x cgroup.Edit) bool { return s.of(x) }) {
			h.Drift++
		}
	}
}

// of reports whether an edit changes the slot's limit.
func (s Slot) of(x cgroup.Edit) bool {
	return (x.Device.IsZero() || x.Device == s.Device) && slices.Contains(x.Keys, s.Key)
}

// below reports whether an edit limits a group below the entry's own that had no limit yet: the container has created
// the group, and no program changed a limit.
func (e *entry) below(edit *cgroup.Edit) bool {
	g, err := e.groups.Group(hierarchy.IO)
	return err == nil && edit.Group != g.Path && len(edit.Was) == 1 && strings.HasSuffix(edit.Was[0], " 0")
}
