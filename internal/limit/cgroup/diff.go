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

// An Edit is one value that has to change.
type Edit struct {
	// Group is the group's name, and File the control file.
	Group string `json:"group,omitempty"`
	File  string `json:"file"`
	// Keys are the limits that it is about; empty for a prerequisite.
	Keys []limit.Key `json:"keys"`
	// Device is the device that it is for, zero where it is for none or all.
	Device device.Number `json:"device,omitzero"`
	// Text is what is written, line by line: the kernel takes one value a write.
	Text []string `json:"text"`
	// Was is what brings back what was there before, in the same way.
	Was []string `json:"was"`

	group *hierarchy.Group
}

// String says what is done: `write "254:0 rbps=1048576" to /sys/fs/cgroup/a/io.max (was "254:0 rbps=max")`.
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

// A Diff is what has to be written so that a target is as wanted.
type Diff struct {
	// Edits are in the order in which they have to be done.
	Edits []Edit `json:"edits"`
	// Held counts the values that are as wanted already.
	Held int `json:"held"`
	// Notes say what one should know of the result, such as a weight that its file's scale cut.
	Notes []string `json:"notes"`

	host *Host
	// top is the group that has to be there; groups below it may go away.
	top []*hierarchy.Group
}

// Empty reports whether nothing has to be written.
func (d *Diff) Empty() bool { return len(d.Edits) == 0 }

// Apply writes the diff and returns how many writes that took. If one is refused, all values
// that were written before are put back, and the error is a *Fault that says so; if the
// target has gone meanwhile, it wraps ErrGone. Groups below the target's own that have gone are no error.
func (d *Diff) Apply() (writes int, err error) {
	x := d.host.Begin()
	writes, err = x.Apply(d)
	if err != nil {
		err = x.Undo(context.Background(), err)
	}
	return writes, err
}

// made reports whether an edit is the first limit of a group below the target's own, which may have been made just now: the edits of
// such groups are version 1's rates, where 0 is none.
func (d *Diff) made(e *Edit) bool {
	return !d.ofTop(e) && len(e.Was) == 1 && strings.HasSuffix(e.Was[0], " 0")
}

// ofTop reports whether an edit is of one of the target's own groups.
func (d *Diff) ofTop(e *Edit) bool {
	return e.group != nil && slices.ContainsFunc(d.top, func(g *hierarchy.Group) bool { return g.Dir == e.group.Dir })
}
