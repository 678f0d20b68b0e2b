package keeper

import (
	"slices"
	"strings"
	"time"

	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit/cgroup"
)

// drifts counts what was put back: once for all that was changed together, and once for each limit of it.
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

// of reports whether an edit is about the limit in a slot.
func (s Slot) of(x cgroup.Edit) bool {
	return (x.Device == "" || x.Device == s.Device) && slices.Contains(x.Keys, s.Key)
}

// below reports whether an edit is of a group below the entry's own that had no limit yet: the container has made
// it, and nobody changed anything.
func (e *entry) below(edit *cgroup.Edit) bool {
	g, err := e.groups.Group(hierarchy.IO)
	return err == nil && edit.Group != g.Path && len(edit.Was) == 1 && strings.HasSuffix(edit.Was[0], " 0")
}
