// Package results writes records as text: the list of runs, the record of a run, and that of one trial. It compares
// nothing; package report does.
//
// A database may be damaged in part. Package results shows what can be read, and names the rest.
package results

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/nearest"
	"plimsoll/internal/text/usage"
)

// A Row is a run in "results ls --json".
type Row struct {
	ID      string    `json:"id"`
	Plan    string    `json:"plan"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	// Status is running, done, failed or interrupted, or broken: killed while it ran.
	Status string `json:"status"`
	Quick  bool   `json:"quick"`
	Seed   uint64 `json:"seed"`
	// Blocks is the number of blocks requested.
	Blocks     int `json:"blocks"`
	BlocksDone int `json:"blocks_done"`
	Trials     int `json:"trials"`
	Failed     int `json:"failed"`
	// Command repeats the run.
	Command string `json:"command"`
	// OfPlan says that the run has a plan, so that it can be resumed.
	OfPlan bool `json:"-"`
}

// broken is the status of a run whose process was killed.
const broken = "broken"

func newRow(s store.Summary) Row {
	r := Row{
		ID: s.ID, Plan: s.Plan, Started: s.Started, Ended: s.Ended, Status: s.Status, Quick: s.Quick, Seed: s.Seed,
		Blocks: s.Blocks, BlocksDone: s.BlocksDone, Trials: s.Trials, Failed: s.Failed, Command: s.Command, OfPlan: s.PlanText != "",
	}
	if s.Broken() {
		r.Status = broken
	}
	return r
}

// List returns the recorded runs, the newest first. If the error is a *store.DamageError, it returns those that can be
// read.
func List(db *store.Store, filter store.Filter) ([]Row, error) {
	runs, err := db.Runs(filter)
	rows := []Row{} // An empty list is [] in JSON.
	for _, s := range runs {
		rows = append(rows, newRow(s))
	}
	return rows, err
}

// WriteList writes runs as a table. The commands in it get flags: " --state /srv/state", or "".
func WriteList(out io.Writer, rows []Row, flags string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tPLAN\tSTARTED\tBLOCKS\tTRIALS\tFAILED\tSTATUS")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d/%d\t%d\t%d\t%s\n",
			r.ID, clean.Line(r.Plan), Time(r.Started), r.BlocksDone, r.Blocks, r.Trials, r.Failed, statusWords(r.Status, r.OfPlan, flags))
	}
	return w.Flush()
}

// Plans returns a hint with the plans that have runs, for a question about a plan without any: ", did you mean a? (there are runs
// of a, b)". It is empty if no run is recorded.
func Plans(db *store.Store, asked string) (string, error) {
	rows, err := List(db, store.Filter{})
	if err != nil && !Damaged(err) {
		return "", err
	}
	var names []string
	for _, r := range rows {
		if !slices.Contains(names, r.Plan) {
			names = append(names, r.Plan)
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	slices.Sort(names)
	hint := ""
	if near := nearest.Word(asked, names); near != "" {
		hint = ", did you mean " + near + "?"
	}
	return hint + " (there are runs of " + clean.Line(strings.Join(names, ", ")) + ")", nil
}

// Find returns the ids of the runs that refs name, each once. The error is a *usage.Error if one names none, or several;
// the command in it gets flags.
func Find(db *store.Store, flags string, refs ...string) (ids []string, err error) {
	for _, ref := range refs {
		id, err := db.Resolve(ref)
		var bad *store.RefError
		if errors.As(err, &bad) {
			bad.Flags = flags
			return nil, usage.Errorf("%w", err)
		}
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Damaged reports whether err is only about records that can't be read, while others can.
func Damaged(err error) bool {
	var bad *store.DamageError
	return errors.As(err, &bad)
}

// statusWords says what can be done about the status of a run, of a plan or of a command line; the latter can't be
// resumed.
func statusWords(status string, ofPlan bool, flags string) string {
	if ofPlan && (status == broken || status == record.Interrupted) {
		return status + " (resume with plimsoll run --resume" + flags + ")"
	}
	return clean.Text(status)
}

// Time formats a time in UTC, as in the ids.
func Time(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}
