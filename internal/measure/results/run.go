package results

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/size"
	"plimsoll/internal/text/usage"
)

// WriteRun writes the record of a run: the machine, the choices, a line for each cell, failures and warnings. Records
// that can't be read are omitted, and reported to damaged one by one; the error says how many there are. The commands in it
// get flags: " --state /srv/state", or "".
func WriteRun(w io.Writer, db *store.Store, id, flags string, damaged func(error)) error {
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
	printRun(w, &run, flags)
	printCells(w, o)
	printFailures(w, o.failed)
	printWarnings(w, "Warnings of trials", o.warnings)
	for _, err := range o.damaged {
		damaged(err)
	}
	if len(o.damaged) > 0 {
		return fmt.Errorf("run %s: left out: %s that can't be read", id, o.missing)
	}
	return nil
}

// WritePlan writes the plan of a run, in the form that plimsoll run reads. The error is a *usage.Error if the run had
// none.
func WritePlan(w io.Writer, db *store.Store, id string) error {
	run, err := db.Run(id)
	if err != nil {
		return err
	}
	if run.PlanText == "" {
		return usage.Errorf("run %s was no plan: run its line again: %s", id, run.Command)
	}
	_, err = io.WriteString(w, run.PlanText)
	return err
}

func trialName(t *record.Trial) string {
	return fmt.Sprintf("%s, %s", t.Key, record.BlockName(t.Block))
}

func printRun(w io.Writer, r *record.Run, flags string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", name, clean.Text(fmt.Sprintf(format, args...)))
	}
	line("Run", "%s, %s", r.ID, statusWords(r.Status, r.PlanText != "", flags))
	line("Plan", "%s, %s, seed %d, margin %g", r.Plan, size.Plural(r.Blocks, "block"), r.Seed, r.Margin)
	if r.Quick {
		line("", "quick: too few blocks to prove anything")
	}
	line("Started", "%s, ended %s (UTC), by plimsoll %s", Time(r.Started), Time(r.Ended), r.Version)
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

// printSkipped prints each reason once, with the cells that were skipped for it by engine and place: if a daemon is
// missing, a third of a plan's cells may be skipped.
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
		fmt.Fprintf(w, "  %s of %s at %s: %s\n", size.Plural(cells[reason], "cell"), clean.Text(strings.Join(spots[reason], ", ")), clean.Text(at), clean.Text(reason))
	}
}

func printWarnings(w io.Writer, title string, all []warningView) {
	if len(all) > 0 {
		fmt.Fprintf(w, "\n%s\n", title)
	}
	for _, x := range all {
		fmt.Fprintf(w, "  %s (%s): %s\n", clean.Text(x.Severity), clean.Text(x.Check), clean.Text(x.Text))
		switch {
		case x.trials == 1:
			fmt.Fprintf(w, "    in %s\n", clean.Text(x.where))
		case x.trials > 1:
			fmt.Fprintf(w, "    in %d trials; the figures are those of %s\n", x.trials, clean.Text(x.where))
		}
	}
}

func printFailures(w io.Writer, failed []record.Trial) {
	if len(failed) > 0 {
		fmt.Fprintf(w, "\nFailed\n")
	}
	for i := range failed {
		fmt.Fprintf(w, "  %s\n", clean.Text(trialName(&failed[i])))
		printFailure(w, &failed[i])
	}
}

func printFailure(w io.Writer, t *record.Trial) {
	phase := ""
	if t.Phase != "" {
		phase = "in " + t.Phase + ": "
	}
	fmt.Fprintf(w, "    %s%s\n", clean.Text(phase), clean.Text(t.Error))
	if t.Progress != "" {
		fmt.Fprintf(w, "    it got as far as: %s\n", clean.Text(t.Progress))
	}
	for line := range strings.Lines(t.Log) {
		fmt.Fprintf(w, "    | %s\n", clean.Text(strings.TrimRight(line, "\r\n")))
	}
	for _, line := range t.Waits {
		fmt.Fprintf(w, "    at its end: %s\n", clean.Text(line))
	}
}
