package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"plimsoll/internal/measure/results"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/text/clean"
)

// resultsCommand is "plimsoll results".
func (a *app) resultsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "results",
		Short: "List, show, compare, export, check and remove recorded runs",
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
	cmd.AddCommand(a.resultsLsCommand(), a.resultsShowCommand(), a.resultsExportCommand(), a.resultsCheckCommand(), a.resultsCompareCommand(), a.resultsRmCommand())
	return cmd
}

// openResults opens the database if there is one; showing results creates none. Without a database, both the store and
// the error are nil.
func (a *app) openResults() (*store.Store, error) {
	path := filepath.Join(a.stateDir, "plimsoll.db")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return store.Open(path)
}

// openRecorded is openResults for a run that must exist.
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
	ids, err := results.Find(db, a.stateFlag(), refs...)
	if err != nil {
		return err
	}
	return f(db, ids)
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
	db, err := a.openResults()
	if err != nil {
		return err
	}
	rows := []results.Row{}
	var damaged error
	if db != nil {
		defer db.Close()
		if rows, damaged = results.List(db, filter); damaged != nil && !results.Damaged(damaged) {
			return damaged
		}
	}
	switch {
	case asJSON:
		err = a.printJSON(rows)
	case len(rows) > 0 || damaged != nil:
		err = results.WriteList(a.stdout, rows, a.stateFlag())
	default:
		err = a.noRuns(db, filter.Plan)
	}
	return cmp.Or(err, damaged)
}

// noRuns says that no run is recorded, or none of a plan.
func (a *app) noRuns(db *store.Store, plan string) error {
	if plan != "" && db != nil {
		others, err := results.Plans(db, plan)
		if err != nil {
			return err
		}
		if others != "" {
			fmt.Fprintf(a.stderr, "No run of a plan called %s is recorded in %s%s\n", clean.Line(plan), a.stateDir, others)
			return nil
		}
	}
	fmt.Fprintf(a.stderr, "No run is recorded in %s; plimsoll run%s makes one.\n", a.stateDir, a.stateFlag())
	return nil
}
