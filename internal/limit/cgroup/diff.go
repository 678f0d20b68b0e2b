package cgroup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
)

// An Edit is a value to change.
type Edit struct {
	// Group is the group's name, and File the control file.
	Group string `json:"group,omitempty"`
	File  string `json:"file"`
	// Keys are the limits that it sets; empty for a prerequisite.
	Keys []limit.Key `json:"keys"`
	// Device is the limit's device, zero for a limit on none or all.
	Device device.Number `json:"device,omitzero"`
	// Text is the lines to write, one per write: the kernel takes one value per write.
	Text []string `json:"text"`
	// Was is the lines that restore the earlier value.
	Was []string `json:"was"`

	group *hierarchy.Group
}

// String describes the edit: `write "254:0 rbps=1048576" to /sys/fs/cgroup/a/io.max (was "254:0 rbps=max")`.
func (e Edit) String() string {
	return fmt.Sprintf("write %s to %s (was %s)", quoted(e.Text), e.File, quoted(e.Was))
}

func quoted(lines []string) string {
	s := ""
	for i, l := range lines {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%q", l)
	}
	return s
}

// A Diff is the changes that give a target the wanted limits.
type Diff struct {
	// Edits are in the order of writing.
	Edits []Edit `json:"edits"`
	// Held counts the values that need no change.
	Held int `json:"held"`
	// Notes are remarks on the result, such as a weight that its file's scale cut.
	Notes []string `json:"notes"`

	host *Host
	// top are the groups that must exist; groups below them may be removed meanwhile.
	top []*hierarchy.Group
}

// Empty reports whether nothing is to be written.
func (d *Diff) Empty() bool { return len(d.Edits) == 0 }

// Apply writes the diff and returns the number of writes. If one is refused, it restores all values written before,
// and returns a *Fault that says so; if the target is gone, the error wraps ErrGone. Groups below the target's own
// that are gone are no error.
func (d *Diff) Apply() (writes int, err error) {
	x := d.host.Begin()
	writes, err = x.Apply(d)
	if err != nil {
		err = x.Undo(context.Background(), err)
	}
	return writes, err
}

// made reports whether an edit is the first limit of a group below the target's own, which the container may have
// just created: edits of such groups are version 1's rates, where 0 is none.
func (d *Diff) made(e *Edit) bool {
	return !d.ofTop(e) && len(e.Was) == 1 && strings.HasSuffix(e.Was[0], " 0")
}

// ofTop reports whether an edit changes one of the target's own groups.
func (d *Diff) ofTop(e *Edit) bool {
	return e.group != nil && slices.ContainsFunc(d.top, func(g *hierarchy.Group) bool { return g.Dir == e.group.Dir })
}
