package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/loopdisk"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/selfcheck"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/text/clean"
)

// A Leftover is one entry of the journal, as doctor --leftovers shows it.
type Leftover struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Name is what the record says of the thing: a container, a group, a disk, an owner; empty if it says nothing.
	Name string `json:"name"`
	// PID is the process that made it, and Ended is set if that has ended. Kept is set, and PID is 0, if it is to stay without one.
	PID   int       `json:"pid"`
	Ended bool      `json:"ended"`
	Kept  bool      `json:"kept"`
	Since time.Time `json:"since"`
	// Sweepable is set if Sweep removes it.
	Sweepable bool `json:"sweepable"`
}

// Leftovers lists what the journals of a state folder and of the machine record. The error is about files that can't be read; the others are listed
// nevertheless.
func Leftovers(state, machine string) (list []Leftover, err error) {
	journals := []*journal.Journal{journal.In(state)}
	if machine != state {
		journals = append(journals, journal.In(machine))
	}
	list = []Leftover{}
	for _, j := range journals {
		kinds, e := j.Kinds()
		err = errors.Join(err, e)
		for _, kind := range kinds {
			entries, e := j.Entries(kind)
			err = errors.Join(err, e)
			for _, e := range entries {
				name, bad := nameIn(e.Payload)
				if bad != nil {
					err = errors.Join(err, &journal.DamagedError{Path: j.Path(e.Kind, e.ID), ID: e.ID, Err: bad})
				}
				l := Leftover{Kind: e.Kind, ID: e.ID, Name: name, PID: e.Owner.PID, Kept: e.Kept(), Since: e.Made}
				// A sweep, which may go on, found that the owner had ended.
				l.Ended = !l.Kept && (e.Sweeper != nil || !j.Alive(e))
				known, _ := journal.KindOf(e.Kind)
				l.Sweepable = l.Ended && known.Undone != ""
				list = append(list, l)
			}
		}
	}
	return list, err
}

// nameIn returns the name of a thing in the payload of its record, or in the first of several. The error is about a payload that no kind has.
func nameIn(payload []byte) (string, error) {
	type named struct {
		Name, Group, Disk, For string
		GroupBytes             []byte `json:"group_bytes"`
		Paths                  []string
	}
	var n named
	if err := json.Unmarshal(payload, &n); err != nil {
		var several []named
		if json.Unmarshal(payload, &several) != nil {
			return "", fmt.Errorf("the record's payload: %w", err)
		}
		if len(several) == 0 {
			return "", nil
		}
		n = several[0]
	}
	if len(n.GroupBytes) > 0 {
		n.Group = string(n.GroupBytes)
	}
	name := cmp.Or(n.Name, n.Group, n.Disk)
	switch {
	case name == "" && len(n.Paths) > 0:
		return n.Paths[0], nil
	case n.For != "":
		return name + " for " + n.For, nil
	}
	return name, nil
}

// Sweepable counts what a sweep removes.
func Sweepable(list []Leftover) (n int) {
	for _, l := range list {
		if l.Sweepable {
			n++
		}
	}
	return n
}

// Running counts what belongs to running processes.
func Running(list []Leftover) (n int) {
	for _, l := range list {
		if !l.Ended && !l.Kept {
			n++
		}
	}
	return n
}

// WriteLeftovers writes them as a table.
func WriteLeftovers(out io.Writer, list []Leftover) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KIND\tID\tPROCESS\tSINCE\tNAME")
	for _, l := range list {
		process := fmt.Sprint(l.PID, " runs")
		switch {
		case l.Kept:
			process = "none: it stays"
		case l.Ended && !l.Sweepable:
			process = fmt.Sprint(l.PID, " ended; no sweep knows the kind")
		case l.Ended:
			process = fmt.Sprint(l.PID, " ended")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", clean.Line(l.Kind), clean.Line(l.ID), process, l.Since.Local().Format(time.DateTime), clean.Line(l.Name))
	}
	return w.Flush()
}

// Sweep removes what ended processes left in a state folder, in the kernel and with engines, and lists it. Records that can't be read
// are an error.
func Sweep(ctx context.Context, fs device.FS, state, machine string, engines []engine.Engine) (removed []string, err error) {
	removed, err = journal.In(state).Sweep(ctx, map[string]journal.Undo{loopdisk.Kind: loopdisk.Undo(state)})
	limits, failed := hold.SweepRuns(ctx, fs, machine)
	daemons, unswept := keeper.Sweep(ctx, machine)
	compared, unremoved := selfcheck.Sweep(ctx, state)
	removed = append([]string{}, slices.Concat(removed, limits, daemons, compared)...) // JSON has a list, also an empty one.
	errs := []error{err, failed, unswept, unremoved}
	for _, e := range engines {
		left, err := e.Sweep(ctx)
		removed, errs = append(removed, left...), append(errs, err)
	}
	if err = errors.Join(errs...); err == nil {
		// A sweep reads only what it can undo. Other records that can't be read would be passed over without a word.
		_, err = Leftovers(state, machine)
	}
	return removed, err
}
