package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"plimsoll/internal/measure/export"
	"plimsoll/internal/measure/results"
	"plimsoll/internal/measure/store"
)

func (a *app) resultsShowCommand() *cobra.Command {
	var asJSON, planOnly bool
	var key string
	var block int
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show the record of a run, or of one of its trials",
		Long: `Show the record of a run: the machine, the choices, the skipped cells, a line for
each cell, the failed trials with their last output, and the warnings. It compares
nothing: for that, use plimsoll report.

With --trial it shows the cell's trial of the first block, or of --block. KEY is a cell's key
as in the list of cells. Blocks count from 1 here, as in reports, and from 0 in JSON and CSV.

--plan prints the plan as it was run, with the changes by flags: 'plimsoll run -'
reads it, so a plan from standard input can run again.

--json prints the whole record, samples and histograms included.`,
		Example: `  plimsoll results show last
  plimsoll results show last --trial wal/host/dir --block 1
  plimsoll results show last --plan > again.yaml
  plimsoll results show last~1 --json`,
		ValidArgsFunction: a.completeRuns,
		Args:              exactly(1, "one run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("block") && !cmd.Flags().Changed("trial") {
				return usageError("--block needs --trial: together they name one trial")
			}
			if key == "" && cmd.Flags().Changed("trial") {
				return usageError("--trial needs the key of a cell")
			}
			if block < 1 {
				return usageError("--block %d: blocks count from 1", block)
			}
			if planOnly && (asJSON || key != "") {
				return usageError("--plan prints only the plan: leave out --json and --trial")
			}
			return a.withRuns(args, func(db *store.Store, ids []string) error {
				return a.show(db, ids[0], key, block-1, planOnly, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the whole record as JSON")
	cmd.Flags().BoolVar(&planOnly, "plan", false, "print the plan as it was run, and nothing else")
	cmd.Flags().StringVar(&key, "trial", "", "show only the trial of the cell with this `KEY`")
	cmd.Flags().IntVar(&block, "block", 1, "the block of the trial, from 1")
	return cmd
}

// show prints a run, its plan, or the trial of one cell in one block.
func (a *app) show(db *store.Store, id, key string, block int, planOnly, asJSON bool) error {
	switch {
	case planOnly:
		return results.WritePlan(a.stdout, db, id)
	case key != "" && asJSON:
		t, err := results.Trial(db, id, key, block)
		if err != nil {
			return err
		}
		return a.printJSON(t)
	case key != "":
		return results.WriteTrial(a.stdout, db, id, key, block)
	case asJSON:
		return export.Write(a.stdout, db, []string{id}, "json", a.damaged)
	}
	return results.WriteRun(a.stdout, db, id, a.stateFlag(), a.damaged)
}

// damaged names a record that can't be read.
func (a *app) damaged(err error) { fmt.Fprintf(a.stderr, "plimsoll: %v\n", err) }
