package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"plimsoll/internal/conf/userfile"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/report"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/text/size"
)

// A runOutcome is what a run's exit status depends on.
type runOutcome struct {
	// failed trials; limits, of which notHeld were not held.
	failed, limits, notHeld int
}

// err is the outcome as an error with its exit status, nil for a run that has neither failed trials nor limits that were not held.
// A limit that was not held goes first: it is a finding of the run, and failed trials are none.
func (o runOutcome) err() error {
	failed := size.Plural(o.failed, "trial") + " failed; the report says why"
	switch {
	case o.notHeld > 0 && o.failed > 0:
		return &exitError{exitNotHeld, fmt.Errorf("NOT held: %d of %s; and %s", o.notHeld, size.Plural(o.limits, "limit"), failed)}
	case o.notHeld > 0:
		return &exitError{exitNotHeld, fmt.Errorf("NOT held: %d of %s", o.notHeld, size.Plural(o.limits, "limit"))}
	case o.failed > 0:
		return &exitError{exitCellsFailed, errors.New(failed)}
	}
	return nil
}

// present writes the files of a run's report and prints it, shortly if the run was
// interrupted.
func (a *app) present(db *store.Store, id string, f runFlags, interrupted bool) (o runOutcome, err error) {
	run, err := db.Run(id)
	if err != nil {
		return o, err
	}
	trials, err := db.Trials(id, store.TrialsOptions{Histograms: true})
	if err != nil {
		return o, err
	}
	for _, t := range trials {
		if t.Status == record.Failed {
			o.failed++
		}
	}
	if len(trials) == 0 && interrupted {
		return o, nil // There is nothing to tell yet.
	}
	r := report.Build(run, trials, report.Options{Flags: a.stateFlag()})
	for _, l := range r.Limits {
		o.limits++
		if l.Verdict == judge.NotHeld {
			o.notHeld++
		}
	}
	set := report.NewSet(r)
	format := "text"
	if f.json {
		format = "json"
	}
	// The files come first: the answer is to be what the screen ends with.
	if f.out != "" {
		err = a.writeReportFiles(set, f.out)
	}
	term := terminal(a.stdout)
	term.Interrupted = interrupted
	term.More = a.whereMore(id, f.out)
	return o, errors.Join(err, a.renderReport(a.stdout, format, set, term))
}

// whereMore says where all of a run's report is, to follow its short form. out is the
// folder that the page was written to, if it was.
func (a *app) whereMore(id, out string) [][2]string {
	more := [][2]string{{"All tables:", "plimsoll report " + id + " --full" + a.stateFlag()}}
	if out == "" {
		return append(more, [2]string{"The page:", "plimsoll report " + id + " -o report.html" + a.stateFlag()})
	}
	return append(more, [2]string{"The page:", filepath.Join(out, "report.html")})
}

// checkOut makes the report's folder and tries to write there, before minutes are
// spent on measuring.
func checkOut(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return usageError("--out: make the report's folder: %w", err)
	}
	f, err := os.CreateTemp(dir, ".plimsoll-*")
	if err != nil {
		return usageError("--out: the folder %s can't be written: %w", dir, userfile.Reason(err))
	}
	f.Close()
	return os.Remove(f.Name())
}

// writeReportFiles writes report.html and report.json into a folder.
func (a *app) writeReportFiles(set report.Set, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the report's folder: %w", err)
	}
	for _, format := range []string{"html", "json"} {
		path := filepath.Join(dir, "report."+format)
		if err := writeFile(a.hardContext(), path, func(w io.Writer) error { return a.renderReport(w, format, set, report.Terminal{}) }); err != nil {
			return err
		}
		fmt.Fprintf(a.stderr, "wrote %s\n", path)
	}
	return nil
}
