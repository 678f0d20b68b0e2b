package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/text/size"
)

// exportVersion is the version of the exported forms: it changes when a field
// changes its meaning or goes, not when one is added.
const exportVersion = 2

// exportFormats are the values of --format.
var exportFormats = []string{"json", "jsonl", "csv"}

// exportOptions selects the data to export.
type exportOptions struct {
	format   string
	attempts bool
}

func (a *app) resultsExportCommand() *cobra.Command {
	var file string
	var asJSON bool
	var opt exportOptions
	cmd := &cobra.Command{
		Use:   "export RUN...",
		Short: "Write every recorded trial of runs as JSON, JSON lines or CSV",
		Long: `Write every recorded trial of one or more runs. JSON and JSON lines hold all that
was recorded, samples and histograms included; JSON lines have one run or trial
a line, which suits big runs. CSV has one row a trial, with its figures and
percentiles in base units. docs/reference/results.md lists the fields.

The format is that of --format, else that of the ending of the file given with
-o (.json, .jsonl, .csv), else JSON. A file is written whole or not at all.

Trials that failed are exported too. A trial that was tried again is exported
as its last attempt; --attempts adds the earlier ones.`,
		Example: `  plimsoll results export last -o trials.csv
  plimsoll results export last~1 last --format jsonl | gzip > runs.jsonl.gz`,
		ValidArgsFunction: a.completeRuns,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("%s needs a run, such as last: see 'plimsoll results ls'", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if asJSON {
				if opt.format != "" && opt.format != "json" {
					return usageError("--json and --format %s contradict each other", opt.format)
				}
				opt.format = "json"
			}
			if opt.format, err = exportFormat(file, opt.format); err != nil {
				return err
			}
			return a.withRuns(args, func(db *store.Store, ids []string) error { return a.exportTo(cmd.Context(), db, ids, opt, file) })
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "-", "`FILE` to write, - is standard output")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the same as --format json")
	cmd.Flags().StringVar(&opt.format, "format", "", "json, jsonl or csv (default: by the file's ending, else json)")
	cmd.Flags().BoolVar(&opt.attempts, "attempts", false, "add the failed attempts that were tried again")
	return cmd
}

// exportFormat decides on the format, before anything is read.
func exportFormat(file, format string) (string, error) {
	if format == "" {
		if file == "-" || file == "" {
			return "json", nil
		}
		format = strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), ".")
	}
	for _, f := range exportFormats {
		if f == format {
			return f, nil
		}
	}
	return "", usageError("unknown format %q: it is one of %s, given by --format or the file's ending", format, strings.Join(exportFormats, ", "))
}

// exportTo writes a file. One that lacks records which can't be read is
// written nevertheless: the database may be past saving.
func (a *app) exportTo(ctx context.Context, db *store.Store, ids []string, opt exportOptions, file string) error {
	if file == "-" || file == "" {
		return a.export(db, ids, opt, a.stdout)
	}
	if err := a.spareDatabase(file); err != nil {
		return err
	}
	var missing *missingError
	err := writeFileAtomic(ctx, file, func(w io.Writer) error {
		err := a.export(db, ids, opt, w)
		if errors.As(err, &missing) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "wrote %s\n", file)
	if missing != nil {
		return missing
	}
	return nil
}

// A missingError says that an export is not complete: how many records it lacks, and whether it may lack more.
type missingError struct {
	n    int
	more bool
}

// add counts what a fault hides.
func (e *missingError) add(bad *store.DamageError) {
	switch {
	case bad.Lost == store.LostUnknown:
		e.more = true
	default:
		e.n += max(bad.Lost, 1)
	}
}

// what names what lacks: "2 records".
func (e *missingError) what() string {
	pages := "trials on damaged pages, whose number is not known,"
	switch {
	case !e.more:
		return size.Plural(e.n, "record")
	case e.n == 0:
		return pages
	}
	return size.Plural(e.n, "record") + " and " + pages
}

func (e *missingError) Error() string {
	return e.what() + " can't be read and so can't be exported; all others were"
}

// An exporter writes runs and their trials in one format.
type exporter interface {
	// run begins a run; its trials follow.
	run(r *record.Run) error
	trial(t *record.Trial) error
	// end ends the file.
	end() error
}

// export writes runs with their trials one at a time, as ten thousand trials need more memory
// than a small machine has.
func (a *app) export(db *store.Store, ids []string, opt exportOptions, w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	e := newExporter(opt.format, out)
	var missing missingError
	// lost counts err if it is about one record, and returns all others.
	lost := func(err error) error {
		var bad *store.DamageError
		if !errors.As(err, &bad) {
			return err
		}
		fmt.Fprintf(a.stderr, "plimsoll: %v\n", err)
		missing.add(bad)
		return nil
	}
	for _, id := range ids {
		run, err := db.Run(id)
		if err != nil {
			if err := lost(err); err != nil {
				return err
			}
			run = record.Run{ID: id} // Its trials have more to say.
		}
		if err := e.run(&run); err != nil {
			return err
		}
		for t, err := range db.EachTrial(id, store.TrialsOptions{Histograms: true, Attempts: opt.attempts}) {
			if err == nil {
				err = e.trial(&t)
			}
			if err := lost(err); err != nil {
				return err
			}
		}
	}
	if err := e.end(); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if missing != (missingError{}) {
		return &missing
	}
	return nil
}

func newExporter(format string, w io.Writer) exporter {
	switch format {
	case "csv":
		return newCSVExporter(w)
	case "jsonl":
		return &linesExporter{newJSONEncoder(w)}
	}
	return &jsonExporter{w: w, enc: newJSONEncoder(w)}
}

func newJSONEncoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

// A linesExporter writes an object a line.
type linesExporter struct{ enc *json.Encoder }

// An exportLine is a run or a trial.
type exportLine struct {
	// SchemaVersion is on the lines of runs.
	SchemaVersion int           `json:"schema_version,omitempty"`
	Run           *record.Run   `json:"run,omitempty"`
	Trial         *record.Trial `json:"trial,omitempty"`
}

func (e *linesExporter) run(r *record.Run) error {
	return e.enc.Encode(exportLine{SchemaVersion: exportVersion, Run: r})
}
func (e *linesExporter) trial(t *record.Trial) error { return e.enc.Encode(exportLine{Trial: t}) }
func (e *linesExporter) end() error                  { return nil }

// A jsonExporter writes one object, {"schema_version":1,"runs":[{"run":{},"trials":[]}]},
// piece by piece, a trial a line.
type jsonExporter struct {
	w            io.Writer
	enc          *json.Encoder
	runs, trials int
}

func (e *jsonExporter) run(r *record.Run) error {
	head := fmt.Sprintf("{\"schema_version\":%d,\"runs\":[\n{\"run\":", exportVersion)
	if e.runs > 0 {
		head = "]},\n{\"run\":"
	}
	e.runs++
	e.trials = 0
	if _, err := io.WriteString(e.w, head); err != nil {
		return err
	}
	if err := e.enc.Encode(r); err != nil {
		return err
	}
	_, err := io.WriteString(e.w, ",\"trials\":[\n")
	return err
}

func (e *jsonExporter) trial(t *record.Trial) error {
	if e.trials++; e.trials > 1 {
		if _, err := io.WriteString(e.w, ","); err != nil {
			return err
		}
	}
	return e.enc.Encode(t)
}

func (e *jsonExporter) end() error {
	_, err := io.WriteString(e.w, "]}]}\n")
	return err
}
