package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/measure/compare"
	"plimsoll/internal/measure/report"
	"plimsoll/internal/measure/results"
	"plimsoll/internal/measure/share"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/text/size"
)

func (a *app) resultsCompareCommand() *cobra.Command {
	var asJSON bool
	var failIf string
	c := &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Compare two runs of the same plan, before and after a change",
		Long: `Compare two runs of the same plan, before and after an update, another kernel or another
disk. It lists what differs between the machines and places first, then how each cell
changed: its ratio to its own run's baseline, with an interval that holds for all cells
together, and the absolute figures beside it.

A run is named as in 'plimsoll results ls', or is a file in JSON: a report (plimsoll report RUN
-o run.json), which may come from another machine, or a file for others (plimsoll results
export RUN --share -o run.json). Runs that asked for different things are refused. Rates are
compared on one machine only. A file for others names none, so it has ratios only.

--fail-if 'slower>10%' ends with status 4 if a cell is proven to be slower by more than that.

Exit status: 0 done; 1 error; 2 wrong usage, or runs that can't be compared; 4 the condition
of --fail-if is met.`,
		Example: `  plimsoll results compare last~1 last
  plimsoll results compare before.json last --fail-if 'slower>10%'`,
		ValidArgsFunction: a.completeRuns,
		Args:              exactly(2, "two runs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.resultsCompare(args, failIf, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().StringVar(&failIf, "fail-if", "", "end with status 4 if a cell changed so: 'slower>10%' or 'faster>10%'")
	notEmpty(c, "fail-if")
	return c
}

// resultsCompare compares two runs and prints how they differ.
func (a *app) resultsCompare(refs []string, failIf string, asJSON bool) error {
	var cond compare.Condition
	if failIf != "" {
		var err error
		if cond, err = compare.ParseCondition(failIf); err != nil {
			return err
		}
	}
	var both [2]*report.Report
	for i, ref := range refs {
		var err error
		if both[i], err = a.reportOf(ref); err != nil {
			return err
		}
	}
	c, err := compare.Runs(both[0], both[1])
	if err != nil {
		return err
	}
	if asJSON {
		err = a.printJSON(c)
	} else {
		err = c.WriteText(a.stdout)
	}
	if err != nil || failIf == "" {
		return err
	}
	if met := c.Met(cond); len(met) > 0 {
		names := make([]string, len(met))
		for i, ch := range met {
			names[i] = ch.Workload + ", " + ch.Label
		}
		return &exitError{exitNotHeld, fmt.Errorf("%s for %s: %s", failIf, size.Plural(len(met), "cell"), strings.Join(names, "; "))}
	}
	return nil
}

// reportOf is the report of a recorded run, or the one in a file of JSON.
func (a *app) reportOf(ref string) (*report.Report, error) {
	if strings.HasSuffix(ref, ".json") {
		return readReport(ref)
	}
	var r *report.Report
	err := a.withRuns([]string{ref}, func(db *store.Store, ids []string) (err error) {
		r, err = results.Report(db, ids[0], report.Options{Flags: a.stateFlag(), TrialHistograms: -1}, a.damaged)
		return err
	})
	return r, err
}

// readReport reads a file that plimsoll report has written as JSON, or plimsoll results export for others.
func readReport(path string) (*report.Report, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if share.Is(b) {
		r, err := sharedReport(path, b)
		return r.Report, err
	}
	var file struct {
		SchemaVersion int              `json:"schema_version"`
		Reports       []*report.Report `json:"reports"`
	}
	switch err := json.Unmarshal(b, &file); {
	case err != nil:
		return nil, usageError("%s is no report in JSON: %w; 'plimsoll report RUN -o FILE.json' writes one", path, err)
	case file.SchemaVersion > report.SchemaVersion:
		return nil, usageError("%s is from a newer plimsoll: its schema version is %d, this one knows %d", path, file.SchemaVersion, report.SchemaVersion)
	case len(file.Reports) != 1 || file.Reports[0] == nil:
		return nil, usageError("%s has %s: one is needed; 'plimsoll report RUN -o FILE.json' writes one", path, size.Plural(len(file.Reports), "report"))
	}
	return file.Reports[0], nil
}
