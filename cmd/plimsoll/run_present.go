package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"plimsoll/internal/conf/userfile"
	"plimsoll/internal/measure/report"
	"plimsoll/internal/measure/results"
	"plimsoll/internal/measure/store"
)

// present writes the files of a run's report and prints the report, in short form if the run was interrupted.
func (a *app) present(db *store.Store, id string, f runFlags, interrupted bool) (o report.Outcome, err error) {
	r, err := results.Report(db, id, report.Options{Flags: a.stateFlag()}, a.damaged)
	if err != nil {
		return o, err
	}
	if len(r.Trials) == 0 && interrupted {
		return o, nil // There is nothing to report yet.
	}
	set := report.NewSet(r)
	format := "text"
	if f.json {
		format = "json"
	}
	// The files come first, so that the screen ends with the answer.
	if f.out != "" {
		err = a.writeReportFiles(set, f.out)
	}
	term := terminal(a.stdout)
	term.Interrupted = interrupted
	term.More = a.whereMore(id, f.out)
	return r.Outcome(), errors.Join(err, report.Render(a.stdout, format, set, term))
}

// outcomeError gives the outcome of a run its exit status; nil if everything went well.
func outcomeError(o report.Outcome) error {
	switch {
	case o.NotHeld > 0:
		return &exitError{exitNotHeld, errors.New(o.String())}
	case o.Failed > 0:
		return &exitError{exitCellsFailed, errors.New(o.String())}
	}
	return nil
}

// whereMore says where the full report of a run is, for the end of its short form. out is the folder of the page, if it
// was written.
func (a *app) whereMore(id, out string) [][2]string {
	more := [][2]string{{"All tables:", "plimsoll report " + id + " --full" + a.stateFlag()}}
	if out == "" {
		return append(more, [2]string{"The page:", "plimsoll report " + id + " -o report.html" + a.stateFlag()})
	}
	return append(more, [2]string{"The page:", filepath.Join(out, "report.html")})
}

// checkOut creates the report's folder and tries to write there, before minutes are spent on measuring.
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
		if err := writeFile(a.hardContext(), path, func(w io.Writer) error { return report.Render(w, format, set, report.Terminal{}) }); err != nil {
			return err
		}
		fmt.Fprintf(a.stderr, "wrote %s\n", path)
	}
	return nil
}
