package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/loopdisk"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/text/clean"
)

// A Leftover is one entry of the journal, as doctor --leftovers shows it.
type Leftover struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// PID is the process that made it, and Ended is set if that has ended. Kept is set, and PID is 0, if it is to stay without one.
	PID   int       `json:"pid"`
	Ended bool      `json:"ended"`
	Kept  bool      `json:"kept"`
	Since time.Time `json:"since"`
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
				list = append(list, Leftover{e.Kind, e.ID, e.Owner.PID, !e.Kept() && !j.Alive(e), e.Kept(), e.Made})
			}
		}
	}
	return list, err
}

// Ended counts what belongs to processes that have ended.
func Ended(list []Leftover) (n int) {
	for _, l := range list {
		if l.Ended {
			n++
		}
	}
	return n
}

// WriteLeftovers writes them as a table.
func WriteLeftovers(out io.Writer, list []Leftover) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KIND\tID\tPROCESS\tSINCE")
	for _, l := range list {
		process := fmt.Sprint(l.PID, " runs")
		switch {
		case l.Kept:
			process = "none: it stays"
		case l.Ended:
			process = fmt.Sprint(l.PID, " ended")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", clean.Line(l.Kind), clean.Line(l.ID), process, l.Since.Local().Format(time.DateTime))
	}
	return w.Flush()
}

// Sweep removes what ended processes left in a state folder, in the kernel and with engines, and lists it. Records that can't be read
// are an error.
func Sweep(ctx context.Context, fs device.FS, state, machine string, engines []engine.Engine) (removed []string, err error) {
	removed, err = journal.In(state).Sweep(ctx, map[string]journal.Undo{loopdisk.Kind: loopdisk.Undo(state)})
	limits, failed := hold.SweepRuns(ctx, fs, machine)
	daemons, unswept := keeper.Sweep(ctx, machine)
	removed = append(append(append([]string{}, removed...), limits...), daemons...)
	errs := []error{err, failed, unswept}
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
