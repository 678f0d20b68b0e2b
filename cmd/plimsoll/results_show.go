package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"plimsoll/internal/measure/export"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/text/size"
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

With --trial it shows the cell's trial of the first block, or of --block, with every attempt
if there were several. KEY is a cell's key as in the list of cells. Blocks count from 1 here, as
in reports, and from 0 in JSON and CSV.

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
				return usageError("--block needs --trial: they name one trial")
			}
			if key == "" && cmd.Flags().Changed("trial") {
				return usageError("--trial needs the key of a cell")
			}
			if block < 1 {
				return usageError("--block %d: blocks count from 1", block)
			}
			if planOnly && (asJSON || key != "") {
				return usageError("--plan prints a plan and nothing else: leave out --json and --trial")
			}
			return a.withRuns(args, func(db *store.Store, ids []string) error {
				if planOnly {
					return a.showPlan(db, ids[0])
				}
				if key != "" {
					return a.showTrial(db, ids[0], key, block-1, asJSON)
				}
				return a.showRun(db, ids[0], asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the whole record as JSON")
	cmd.Flags().BoolVar(&planOnly, "plan", false, "print the plan as it was run, and nothing else")
	cmd.Flags().StringVar(&key, "trial", "", "show only the trial of the cell with this `KEY`")
	cmd.Flags().IntVar(&block, "block", 1, "the block of the trial, from 1")
	return cmd
}

func (a *app) showRun(db *store.Store, id string, asJSON bool) error {
	if asJSON {
		return a.export(a.stdout, db, []string{id}, export.Options{Format: "json", Attempts: true})
	}
	run, err := db.Run(id)
	if err != nil {
		return err
	}
	o, err := overlook(db, id)
	if err != nil {
		return err
	}
	if alive, err := db.Alive(id); err == nil && !alive && run.Status == record.Running {
		run.Status = broken
	}
	printRun(a.stdout, &run)
	printCells(a.stdout, o)
	printFailures(a.stdout, o.failed)
	printWarnings(a.stdout, "Warnings of trials", o.warnings)
	for _, err := range o.damaged {
		fmt.Fprintf(a.stderr, "plimsoll: %v\n", err)
	}
	if len(o.damaged) > 0 {
		return fmt.Errorf("run %s: %s can't be read and are left out", id, o.missing)
	}
	return nil
}

// showPlan prints the plan of a run for plimsoll run to read.
func (a *app) showPlan(db *store.Store, id string) error {
	run, err := db.Run(id)
	if err != nil {
		return err
	}
	if run.PlanText == "" {
		return usageError("run %s was no plan: run its line again: %s", id, run.Command)
	}
	_, err = io.WriteString(a.stdout, run.PlanText)
	return err
}

func trialName(t *record.Trial) string {
	return fmt.Sprintf("%s, %s", t.Key, record.BlockName(t.Block))
}

func printRun(w io.Writer, r *record.Run) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", name, printable(fmt.Sprintf(format, args...)))
	}
	line("Run", "%s, %s", r.ID, statusWords(r.Status, r.PlanText != ""))
	line("Plan", "%s, %s, seed %d, margin %g", r.Plan, size.Plural(r.Blocks, "block"), r.Seed, r.Margin)
	if r.Quick {
		line("", "quick: too few blocks to prove anything")
	}
	line("Started", "%s, ended %s (UTC), by plimsoll %s", timeWord(r.Started), timeWord(r.Ended), r.Version)
	line("Command", "%s", r.Command)
	m := r.Machine
	line("Machine", "%s: %s, %s, %s, %s (%s), %s of memory, cgroup %s, clock %s", m.Hostname, m.OS, m.Kernel, m.Arch,
		size.Plural(m.CPUs, "CPU"), m.CPUModel, size.Bytes(m.Memory), m.Cgroup, m.Clock)
	if m.Virtual != "" {
		line("", "a virtual machine (%s)", m.Virtual)
	}
	if r.Ceiling.IOPS > 0 {
		line("Ceiling", "%s I/Os per second without a device, in one thread", size.Count(r.Ceiling.IOPS))
	}
	for _, name := range slices.Sorted(maps.Keys(r.IOEngine)) {
		line("I/O engine", "%s: %s, %s", name, cmp.Or(r.IOEngine[name].Engine, "each cell's own"), r.IOEngine[name].Why)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Baseline)) {
		line("Baseline", "%s: %s", name, r.Baseline[name])
	}
	t.Flush() // Errors of standard output show at the next write to it.
	if len(r.Skipped) > 0 {
		fmt.Fprintf(w, "\nSkipped\n")
	}
	printSkipped(w, r.Skipped)
	var warnings []warningView
	for _, x := range r.Warnings {
		warnings = append(warnings, warningView{Warning: x})
	}
	printWarnings(w, "Warnings of the run", warnings)
}

// printSkipped prints each reason once, with the cells that it keeps from being measured by
// engine and place: a daemon that isn't there takes a third of a plan's cells out.
func printSkipped(w io.Writer, all []record.Skip) {
	var reasons []string
	cells, spots, workloads := map[string]int{}, map[string][]string{}, map[string][]string{}
	for _, s := range all {
		if !slices.Contains(workloads[s.Reason], s.Cell.Workload) {
			workloads[s.Reason] = append(workloads[s.Reason], s.Cell.Workload)
		}
		if cells[s.Reason] == 0 {
			reasons = append(reasons, s.Reason)
		}
		cells[s.Reason]++
		spot := s.Cell.Engine + " " + s.Cell.Places()
		if !slices.Contains(spots[s.Reason], spot) {
			spots[s.Reason] = append(spots[s.Reason], spot)
		}
	}
	for _, reason := range reasons {
		at := size.Plural(len(workloads[reason]), "workload")
		if len(workloads[reason]) == 1 {
			at = workloads[reason][0]
		}
		fmt.Fprintf(w, "  %s of %s at %s: %s\n", size.Plural(cells[reason], "cell"), printable(strings.Join(spots[reason], ", ")), printable(at), printable(reason))
	}
}

func printWarnings(w io.Writer, title string, all []warningView) {
	if len(all) > 0 {
		fmt.Fprintf(w, "\n%s\n", title)
	}
	for _, x := range all {
		fmt.Fprintf(w, "  %s (%s): %s\n", printable(x.Severity), printable(x.Check), printable(x.Text))
		switch {
		case x.trials == 1:
			fmt.Fprintf(w, "    in %s\n", printable(x.where))
		case x.trials > 1:
			fmt.Fprintf(w, "    in %d trials; the figures are those of %s\n", x.trials, printable(x.where))
		}
	}
}

func printFailures(w io.Writer, failed []record.Trial) {
	if len(failed) > 0 {
		fmt.Fprintf(w, "\nFailed\n")
	}
	for i := range failed {
		fmt.Fprintf(w, "  %s\n", printable(trialName(&failed[i])))
		printFailure(w, &failed[i])
	}
}

func printFailure(w io.Writer, t *record.Trial) {
	phase := ""
	if t.Phase != "" {
		phase = "in " + t.Phase + ": "
	}
	fmt.Fprintf(w, "    %s%s\n", printable(phase), printable(t.Error))
	if t.Progress != "" {
		fmt.Fprintf(w, "    it got as far as: %s\n", printable(t.Progress))
	}
	for line := range strings.Lines(t.Log) {
		fmt.Fprintf(w, "    | %s\n", printable(strings.TrimRight(line, "\r\n")))
	}
	for _, line := range t.Waits {
		fmt.Fprintf(w, "    at its end: %s\n", printable(line))
	}
}
