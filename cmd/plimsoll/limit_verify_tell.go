package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/verify"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/jsonlist"
	"plimsoll/internal/text/size"
)

// A verified is what verify prints of one with --json.
type verified struct {
	Part   string       `json:"part"`
	Ground string       `json:"ground"`
	Device string       `json:"device"`
	Rows   []verify.Row `json:"rows"`
	// Error reports why it broke off, after the rows that there are.
	Error string `json:"error,omitempty"`

	number  device.Number
	members int
}

// tellRows prints what was found of one.
func (a *app) tellRows(v verified) error {
	if len(v.Rows) == 0 && v.Error != "" {
		return nil // The error is told.
	}
	of := ""
	if v.members > 1 {
		of = fmt.Sprintf(", one of the %d devices of its data, each with the limit: judged by the I/O of this one", v.members)
	}
	fmt.Fprintf(a.stdout, "%s, %s, on %s (%s)%s:\n", clean.Line(v.Part), clean.Line(v.Ground), v.Device, v.number, of)
	if len(v.Rows) == 0 {
		return nil
	}
	if err := printRows(a.stdout, v.Rows); err != nil {
		return err
	}
	for _, r := range v.Rows {
		if r.Verdict != judge.NotHeld || r.Why == "" {
			continue
		}
		fmt.Fprintf(a.stdout, "%s, %s, is not held: %s\n", r.Key, r.Mode, clean.Line(r.Why))
		if r.Fix != "" {
			fmt.Fprintf(a.stdout, "  fix: %s\n", clean.Line(r.Fix))
		}
	}
	return nil
}

// ended notes why a verification broke off.
func (v *verified) ended(err error) {
	if v.Rows == nil {
		v.Rows = []verify.Row{}
	}
	if err != nil {
		v.Error = err.Error()
	}
}

// tellVerified ends a verification that broke off with err, or didn't.
func (a *app) tellVerified(all []verified, asJSON bool, err error) error {
	if asJSON && len(all) > 0 {
		if jerr := a.printJSON(jsonlist.Of(all)); jerr != nil {
			return jerr
		}
	}
	if errors.Is(err, context.Canceled) {
		tried := 0
		for _, v := range all {
			tried += len(v.Rows)
		}
		if tried == 0 {
			return errors.New("interrupted: nothing is proved yet")
		}
		return fmt.Errorf("interrupted: %s tried, see the lines above; the rest is not tried", size.Plural(tried, "row"))
	}
	if err != nil {
		return err
	}
	return verdict(all)
}

// printRows prints a table of what was found.
func printRows(out io.Writer, rows []verify.Row) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "limit\tmode\tasked\tapplication\tdevice\terror\tfirst second\tsettled after\tverdict")
	for _, r := range rows {
		settled, over := "", ""
		if r.Converged >= 0 && r.Elapsed > 0 && r.Mode != verify.BufferedSync {
			settled = size.Duration(r.Converged)
		}
		if r.Elapsed > 0 && r.Mode != verify.BufferedSync && r.Mode != verify.Buffered && r.Mode != verify.Elsewhere {
			over = fmt.Sprintf("+%.0f %%", r.Overshoot*100)
		}
		app, dev, off := "", "", ""
		if r.Elapsed > 0 {
			app, dev, off = r.Rate(r.App), r.Rate(r.Device), fmt.Sprintf("%+.1f %%", r.Off*100)
			if r.Mode == verify.Elsewhere {
				app = ""
			}
			dev += shares(r)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Key, r.Mode, r.Rate(float64(r.Asked)), app, dev, off, over, settled, clean.Line(r.Words()))
	}
	return w.Flush()
}

// shares reports how much of what the device did was not the row's own group's: the target's other groups', and others'.
func shares(r verify.Row) string {
	var of []string
	if r.Kin > 0 {
		of = append(of, r.Rate(r.Kin)+" the target's other groups'")
	}
	if r.Others > r.Device/20 && r.Others > float64(r.Asked)/20 {
		of = append(of, r.Rate(r.Others)+" others'")
	}
	if len(of) == 0 {
		return ""
	}
	return " (" + strings.Join(of, ", ") + ")"
}

// verdict is the exit status that the rows stand for. One that could not be measured is an error, unless one that could is
// not held.
func verdict(all []verified) error {
	var not, failed, unknown, held int
	for _, v := range all {
		for _, r := range v.Rows {
			switch r.Verdict {
			case judge.NotHeld:
				not++
			case judge.Held:
				held++
			case judge.Failed:
				failed++
			default:
				unknown++
			}
		}
	}
	of := size.Plural(not+failed+unknown+held, "row")
	switch {
	case not > 0 && failed > 0:
		return &exitError{exitNotHeld, fmt.Errorf("NOT held: %d of %s; could not be measured: %d", not, of, failed)}
	case not > 0:
		return &exitError{exitNotHeld, fmt.Errorf("NOT held: %d of %s", not, of)}
	case failed > 0:
		return fmt.Errorf("could not be measured: %d of %s, see the lines above", failed, of)
	case held == 0:
		return &exitError{exitCannot, errors.New("nothing was proved: see the lines above")}
	}
	return nil
}
