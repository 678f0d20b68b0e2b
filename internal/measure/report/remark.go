package report

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/stats"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/size"
)

// remarks are the sentences about the run as a whole, doubts first.
func remarks(r *Report, g *gathered, opt Options) []Remark {
	var out []Remark
	add := func(grade, format string, args ...any) {
		out = append(out, Remark{grade, fmt.Sprintf(format, args...)})
	}
	if r.Run.Quick {
		add(record.Doubt, "%s %s nothing: %s only orders of magnitude; use 6 or more for verdicts (the plan's own number, or --blocks)", size.Plural(r.Run.Blocks, "block"), plural(r.Run.Blocks, "proves", "prove"), plural(r.Run.Blocks, "it shows", "they show"))
	}
	if text := unfinished(r, g, opt); text != "" {
		add(record.Doubt, "%s", text)
	}
	if n, of := failedCells(r); n > 0 {
		add(record.Doubt, "%d of %s had failed trials", n, size.Plural(of, "cell"))
	}
	out = append(out, runWarnings(r.Run.Warnings)...)
	for _, text := range r.ioEngineTexts() {
		add(record.Note, "%s", text)
	}
	if text := drift(r); text != "" && !slices.ContainsFunc(r.Run.Warnings, func(w record.Warning) bool { return w.Check == "drift" }) {
		add(record.Note, "%s", text)
	}
	if text := r.stallsText(); text != "" {
		add(record.Note, "%s", text)
	}
	if text := r.looksText(); text != "" {
		add(record.Note, "%s", text)
	}
	if c := r.Run.Ceiling; c.IOPS > 0 {
		add(record.Note, "the load generator's own ceiling is %s a thread on a null target (%s)", rateText(c.IOPS, "I/Os"), size.Plural(c.CPUs, "CPU"))
	} else {
		add(record.Note, "the load generator's own ceiling was not measured")
	}
	add(record.Note, "%s of %s, each block in a fresh random order, seed %d", size.Plural(len(g.trials), "trial"), blocksText(r, g), r.Run.Seed)
	slices.SortStableFunc(out, func(a, b Remark) int { return severityOrder(a.Severity) - severityOrder(b.Severity) })
	return out
}

// runWarnings are the doubts about the whole run. Warnings with the same words after a cell's name and a colon become one:
// the first cell's, with the number of others.
func runWarnings(all []record.Warning) []Remark {
	var out []Remark
	var more []int
	at := map[string]int{}
	for _, w := range all {
		text := strings.TrimSuffix(w.Text, ".")
		_, rest, ok := strings.Cut(text, ": ")
		key := w.Check + "\x00" + w.Severity + "\x00" + mask(rest)
		if i, seen := at[key]; seen && ok {
			more[i]++
			continue
		}
		at[key] = len(out)
		out = append(out, Remark{severity(w.Severity), text})
		more = append(more, 0)
	}
	for i, n := range more {
		if n > 0 {
			out[i].Text += fmt.Sprintf(" (and so %s)", size.Plural(n, "other cell"))
		}
	}
	return out
}

func blocksText(r *Report, g *gathered) string {
	if n := len(g.blocks); n != r.Run.Blocks {
		return fmt.Sprintf("%s (%d were asked for)", size.Plural(n, "block"), r.Run.Blocks)
	}
	return size.Plural(r.Run.Blocks, "block")
}

// unfinished says how much of a run that did not end was measured.
func unfinished(r *Report, g *gathered, opt Options) string {
	if r.Run.Status == record.Done {
		return ""
	}
	whole := 0
	for _, b := range g.blocks {
		whole += bit(g.complete(b))
	}
	how := map[string]string{
		record.Interrupted: "the run was interrupted",
		record.Running:     "the run is still going on, or was killed",
		record.Failed:      "the run failed",
	}[r.Run.Status]
	if how == "" {
		how = "the run's status is " + r.Run.Status
	}
	text := fmt.Sprintf("%s: %s measured", how, size.Plural(len(g.trials), "trial"))
	if g.run.PlanText == "" {
		return text // A line of another tool: to continue, repeat its command.
	}
	return fmt.Sprintf("%s, %d of %s complete; plimsoll run --resume %s%s measures the rest",
		text, whole, size.Plural(r.Run.Blocks, "block"), r.Run.ID, opt.Flags)
}

func failedCells(r *Report) (failed, all int) {
	for _, w := range r.Workloads {
		all += countCells(w.Cells)
		bad := map[int]bool{}
		for row, c := range w.Cells {
			if c.FailedN > 0 {
				bad[baseOf(w.Cells, row)] = true
			}
		}
		failed += len(bad)
	}
	return failed, all
}

// drift reports whether the values rose or fell from the first trial to the last.
func drift(r *Report) string {
	var order, cell []int
	var value []float64
	metrics := map[int]workload.Metric{}
	for _, w := range r.Workloads {
		for _, c := range w.Cells {
			metrics[c.Index] = w.Metric
		}
	}
	for _, t := range r.Trials {
		if t.Value.Known() {
			order, cell, value = append(order, t.Order), append(cell, t.Cell), append(value, metrics[t.Cell].Rate(float64(t.Value)))
		}
	}
	d := stats.Drift(order, cell, value)
	interval := fmt.Sprintf("95 %% interval %+.1f %% to %+.1f %%", 100*d.Low, 100*d.High)
	switch {
	case d.Low == 0 && d.High == 0:
		return ""
	case !d.Drifting:
		return fmt.Sprintf("no drift seen from the first trial to the last (%s)", interval)
	}
	return fmt.Sprintf("drift: from the first trial to the last the values changed by %+.1f %% (%s); the random order keeps it out of the ratios, but widens their intervals", 100*d.Change, interval)
}

// rateText prints a rate with a scaled count: "5.12 M I/Os per second".
func rateText(v float64, what string) string {
	scaled, prefix := siPrefix(v)
	return strings.TrimSpace(fmt.Sprintf("%s %s per second", digits(v/scaled, 3), strings.TrimSpace(prefix+" "+what)))
}

// plural chooses a verb's form.
func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
