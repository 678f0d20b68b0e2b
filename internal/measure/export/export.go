// Package export writes recorded runs with all their trials as JSON, JSON lines, CSV or benchmarks of Go, for other programs.
package export

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/text/usage"
)

// Version is the version of the exported formats. It changes when a field changes its meaning or is removed, not when
// one is added.
const Version = 3

// Formats are the names of the formats.
var Formats = []string{"json", "jsonl", "csv", "benchfmt"}

// FormatOf returns the format of an output: the named one, otherwise that of the file's extension, otherwise JSON. The
// error is a *usage.Error.
func FormatOf(file, named string) (string, error) {
	if named == "" {
		if file == "-" || file == "" {
			return "json", nil
		}
		named = strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), ".")
		if named == "bench" {
			named = "benchfmt" // benchstat's files have no ending of their own.
		}
	}
	if !slices.Contains(Formats, named) {
		return "", usage.Errorf("unknown format %q: it is one of %s, given by --format or the file's ending", named, strings.Join(Formats, ", "))
	}
	return named, nil
}

// A MissingError says that the output is incomplete.
type MissingError struct{ store.Missing }

func (e *MissingError) Error() string {
	return e.String() + " can't be read and so can't be exported; all others were"
}

// An exporter writes runs and their trials in one format.
type exporter interface {
	// run begins a run; its trials follow.
	run(r *record.Run) error
	trial(t *record.Trial) error
	// end ends the file.
	end() error
}

// Write writes runs with their trials one at a time, because ten thousand trials need more memory than a small machine
// has. format is one of Formats. A record that can't be read is omitted and reported to damaged; the error is then a *MissingError.
func Write(w io.Writer, db *store.Store, ids []string, format string, damaged func(error)) error {
	out := bufio.NewWriterSize(w, 1<<16)
	e := newExporter(format, out)
	var missing MissingError
	// lost counts err if it is about one record, and returns all other errors.
	lost := func(err error) error {
		var bad *store.DamageError
		if !errors.As(err, &bad) {
			return err
		}
		damaged(err)
		missing.Add(bad)
		return nil
	}
	for _, id := range ids {
		run, err := db.Run(id)
		if err != nil {
			if err := lost(err); err != nil {
				return err
			}
			run = record.Run{ID: id} // Its trials contain more.
		}
		if err := e.run(&run); err != nil {
			return err
		}
		for t, err := range db.EachTrial(id, store.TrialsOptions{Histograms: true}) {
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
	if missing != (MissingError{}) {
		return &missing
	}
	return nil
}

func newExporter(format string, w io.Writer) exporter {
	switch format {
	case "csv":
		return newCSVWriter(w)
	case "benchfmt":
		return newBenchWriter(w)
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

// A linesExporter writes one object per line.
type linesExporter struct{ enc *json.Encoder }

// A Line is a run or a trial.
type Line struct {
	// SchemaVersion is set on the lines of runs.
	SchemaVersion int           `json:"schema_version,omitempty"`
	Run           *record.Run   `json:"run,omitempty"`
	Trial         *record.Trial `json:"trial,omitempty"`
}

func (e *linesExporter) run(r *record.Run) error {
	return e.enc.Encode(Line{SchemaVersion: Version, Run: r})
}
func (e *linesExporter) trial(t *record.Trial) error { return e.enc.Encode(Line{Trial: t}) }
func (e *linesExporter) end() error                  { return nil }

// A jsonExporter writes one object, {"schema_version":3,"runs":[{"run":{},"trials":[]}]}, piece by piece, one trial per
// line.
type jsonExporter struct {
	w            io.Writer
	enc          *json.Encoder
	runs, trials int
}

func (e *jsonExporter) run(r *record.Run) error {
	head := fmt.Sprintf("{\"schema_version\":%d,\"runs\":[\n{\"run\":", Version)
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
