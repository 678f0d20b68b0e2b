package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/text/nearest"
)

// resultsCommand is "plimsoll results".
func (a *app) resultsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "results",
		Short: "List, show, export and remove recorded runs",
		Long: `Plimsoll records every run in one database in the state folder: each trial, with its
samples and histograms, as soon as it ends.

A run is named by its id, the beginning of its id, "last" for the one that was
started last, or "last~N" for the Nth before it.

Exit status: 0 done; 1 error; 2 wrong usage or an unknown run.`,
		Example: `  plimsoll results ls
  plimsoll results show last
  plimsoll results export last -o trials.csv
  plimsoll results rm 20261121-153000-3f9a`,
		Args: needsSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.resultsLsCommand(), a.resultsShowCommand(), a.resultsExportCommand(), a.resultsRmCommand())
	return cmd
}

// openResults opens the database if there is one: looking at results makes
// none. Without one both the store and the error are nil.
func (a *app) openResults() (*store.Store, error) {
	path := filepath.Join(a.stateDir, "plimsoll.db")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return store.Open(path)
}

// openRecorded is openResults for a run that has to be there.
func (a *app) openRecorded(ref string) (*store.Store, error) {
	db, err := a.openResults()
	if err == nil && db == nil {
		err = usageError("run %q is not known: no run is recorded in %s", ref, a.stateDir)
	}
	return db, err
}

// withRuns opens the database, finds the runs that refs name, each once, and calls f.
func (a *app) withRuns(refs []string, f func(db *store.Store, ids []string) error) error {
	db, err := a.openRecorded(refs[0])
	if err != nil {
		return err
	}
	defer db.Close()
	var ids []string
	seen := make(map[string]bool)
	for _, ref := range refs {
		id, err := db.Resolve(ref)
		if err != nil {
			return refError(err)
		}
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return f(db, ids)
}

// refError makes an unknown run wrong usage.
func refError(err error) error {
	var bad *store.RefError
	if errors.As(err, &bad) {
		return usageError("%w", err)
	}
	return err
}

// A resultRow is a run in "results ls --json".
type resultRow struct {
	ID      string    `json:"id"`
	Plan    string    `json:"plan"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	// Status is running, done, failed or interrupted, or broken: killed while it ran.
	Status string `json:"status"`
	Quick  bool   `json:"quick"`
	Seed   uint64 `json:"seed"`
	// Blocks is how many were asked for.
	Blocks     int `json:"blocks"`
	BlocksDone int `json:"blocks_done"`
	Trials     int `json:"trials"`
	Failed     int `json:"failed"`
	// Command repeats the run.
	Command string `json:"command"`
	// OfPlan: it has a plan to go on with.
	OfPlan bool `json:"-"`
}

// broken is the status of a run whose process was killed.
const broken = "broken"

func newResultRow(s store.Summary) resultRow {
	r := resultRow{
		ID: s.ID, Plan: s.Plan, Started: s.Started, Ended: s.Ended, Status: s.Status, Quick: s.Quick, Seed: s.Seed,
		Blocks: s.Blocks, BlocksDone: s.BlocksDone, Trials: s.Trials, Failed: s.Failed, Command: s.Command, OfPlan: s.PlanText != "",
	}
	if s.Broken() {
		r.Status = broken
	}
	return r
}

func (a *app) resultsLsCommand() *cobra.Command {
	var asJSON bool
	var filter store.Filter
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the recorded runs, the newest first",
		Long: `List the recorded runs, the newest first: the blocks complete and asked for, the
trials, and how many of them failed. Times are UTC.

A run that was killed is called broken. It keeps what it measured, and
plimsoll run --resume continues it.`,
		Example: `  plimsoll results ls
  plimsoll results ls --plan places --json`,
		Args: exactly(0, "no argument"),
		RunE: func(*cobra.Command, []string) error { return a.resultsLs(filter, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&filter.Plan, "plan", "", "only the runs of the plan of this `NAME`")
	return cmd
}

func (a *app) resultsLs(filter store.Filter, asJSON bool) error {
	rows := []resultRow{} // An empty list is [] in JSON.
	db, err := a.openResults()
	if err != nil {
		return err
	}
	var damaged error
	if db != nil {
		defer db.Close()
		runs, err := db.Runs(filter)
		var bad *store.DamageError
		if err != nil && !errors.As(err, &bad) {
			return err
		}
		damaged = err
		for _, s := range runs {
			rows = append(rows, newResultRow(s))
		}
	}
	if asJSON {
		if err := a.printJSON(rows); err != nil {
			return err
		}
		return damaged
	}
	if len(rows) == 0 && damaged == nil {
		if filter.Plan != "" && db != nil {
			return a.noRunOf(db, filter.Plan)
		}
		fmt.Fprintf(a.stderr, "No run is recorded in %s; plimsoll run makes one.\n", a.stateDir)
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tPLAN\tSTARTED\tBLOCKS\tTRIALS\tFAILED\tSTATUS")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d/%d\t%d\t%d\t%s\n",
			r.ID, printable(r.Plan), timeWord(r.Started), r.BlocksDone, r.Blocks, r.Trials, r.Failed, statusWords(r.Status, r.OfPlan))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return damaged
}

// noRunOf says that no run of a plan is recorded, and of which there are some.
func (a *app) noRunOf(db *store.Store, name string) error {
	runs, err := db.Runs(store.Filter{})
	var bad *store.DamageError
	if err != nil && !errors.As(err, &bad) {
		return err
	}
	var names []string
	for _, r := range runs {
		if !slices.Contains(names, r.Plan) {
			names = append(names, r.Plan)
		}
	}
	if len(names) == 0 {
		fmt.Fprintf(a.stderr, "No run is recorded in %s; plimsoll run makes one.\n", a.stateDir)
		return nil
	}
	slices.Sort(names)
	hint := ""
	if near := nearest.Word(name, names); near != "" {
		hint = ", did you mean " + near + "?"
	}
	fmt.Fprintf(a.stderr, "No run of a plan called %s is recorded in %s%s (there are runs of %s)\n",
		printable(name), a.stateDir, hint, printable(strings.Join(names, ", ")))
	return nil
}

// statusWords says what can be done about the status of a run, of a plan or of a line, which nothing goes on with.
func statusWords(status string, ofPlan bool) string {
	if ofPlan && (status == broken || status == record.Interrupted) {
		return status + " (resume with plimsoll run --resume)"
	}
	return printable(status)
}

// timeWord prints a time in UTC, as in the ids.
func timeWord(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// printable keeps foreign text, such as the log of a container, from steering
// the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == unicode.ReplacementChar, unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return '?'
		}
		return r
	}, s)
}
