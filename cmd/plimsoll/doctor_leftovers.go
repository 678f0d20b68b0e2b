package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/loopdisk"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/text/clean"
)

// A leftover is one entry of the journal, as doctor --leftovers shows it.
type leftover struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// PID is the process that made it, and Ended is set if that has ended. Kept is set, and PID is 0, if it is to stay without one.
	PID   int       `json:"pid"`
	Ended bool      `json:"ended"`
	Kept  bool      `json:"kept"`
	Since time.Time `json:"since"`
}

// leftovers prints what the journals of the state folder and of the machine record, or removes what ended processes left.
func (a *app) leftovers(ctx context.Context, sweep, asJSON bool) error {
	if sweep {
		return a.sweepLeftovers(ctx, asJSON)
	}
	journals := []*journal.Journal{journal.In(a.stateDir)}
	if a.machine() != a.stateDir {
		journals = append(journals, journal.In(a.machine()))
	}
	list, err := readLeftovers(journals...)
	if asJSON {
		return errors.Join(a.printJSON(list), err)
	}
	if len(list) == 0 && err == nil {
		fmt.Fprintf(a.stdout, "Nothing is recorded in %s: no run is under way, and none left anything.\n", clean.Line(a.stateDir))
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KIND\tID\tPROCESS\tSINCE")
	ended := 0
	for _, l := range list {
		process := fmt.Sprint(l.PID, " runs")
		switch {
		case l.Kept:
			process = "none: it stays"
		case l.Ended:
			process = fmt.Sprint(l.PID, " ended")
			ended++
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", clean.Line(l.Kind), clean.Line(l.ID), process, l.Since.Local().Format(time.DateTime))
	}
	if err := errors.Join(w.Flush(), err); err != nil {
		return err
	}
	if ended > 0 {
		fmt.Fprintf(a.stderr, "%d of %d belong to processes that have ended: plimsoll doctor --sweep removes them, and so does the next plimsoll run.\n", ended, len(list))
	}
	return nil
}

// readLeftovers lists the entries of journals. The error is about files that can't be read; the others are listed
// nevertheless.
func readLeftovers(journals ...*journal.Journal) (list []leftover, err error) {
	list = []leftover{}
	for _, j := range journals {
		kinds, e := j.Kinds()
		err = errors.Join(err, e)
		for _, kind := range kinds {
			entries, e := j.Entries(kind)
			err = errors.Join(err, e)
			for _, e := range entries {
				list = append(list, leftover{e.Kind, e.ID, e.Owner.PID, !e.Kept() && !j.Alive(e), e.Kept(), e.Made})
			}
		}
	}
	return list, err
}

// sweepLeftovers removes what ended processes left, and lists it.
func (a *app) sweepLeftovers(ctx context.Context, asJSON bool) error {
	removed, err := journal.In(a.stateDir).Sweep(ctx, map[string]journal.Undo{loopdisk.Kind: loopdisk.Undo(a.stateDir)})
	limits, failed := hold.SweepRuns(ctx, device.Host(), a.machine())
	daemons, unswept := keeper.Sweep(ctx, a.machine())
	removed = slices.Concat(removed, limits, daemons)
	errs := []error{err, failed, unswept}
	for _, e := range a.engines().All() {
		left, err := e.Sweep(ctx)
		removed, errs = append(removed, left...), append(errs, err)
	}
	if asJSON {
		errs = append(errs, a.printJSON(append([]string{}, removed...)))
	} else if len(removed) == 0 {
		fmt.Fprintln(a.stderr, "There was nothing to remove.")
	} else {
		fmt.Fprintln(a.stdout, clean.Text("removed "+strings.Join(removed, "\nremoved ")))
	}
	return errors.Join(errs...)
}
