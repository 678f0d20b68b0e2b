package report

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

// ioEngine names the I/O engine of one workload, and why it was used. A plan with io_engine: best leaves the choice to each
// cell; the cells then say what they used.
func (g *gathered) ioEngine(name string, cells []Cell) (engine, why string) {
	choice, ok := g.run.IOEngine[name]
	if !ok || choice.Engine != "" {
		return choice.Engine, choice.Why
	}
	by := map[string][]string{}
	var used []string
	for i := range cells {
		e := cells[i].IOEngine
		if e == "" {
			continue // It failed before it did any I/O.
		}
		if by[e] == nil {
			used = append(used, e)
		}
		by[e] = append(by[e], cells[i].Label)
	}
	if len(used) == 1 {
		return used[0], choice.Why
	}
	slices.SortStableFunc(used, func(a, b string) int { return len(by[b]) - len(by[a]) })
	for i, e := range used {
		used[i] = e + " (" + someOf(by[e]) + ")"
	}
	return strings.Join(used, ", "), choice.Why
}

// someOf lists names, three at most.
func someOf(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more cells", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}

// usedEngine is the I/O engine that a cell's trials report.
func usedEngine(trials []*record.Trial) string {
	var used []string
	for _, t := range trials {
		for i := range t.Results {
			if e := t.Results[i].IOEngine; e != "" && !slices.Contains(used, e) {
				used = append(used, e)
			}
		}
	}
	return strings.Join(used, ", ")
}

// ioEngineTexts says which I/O engine was used and why, once for all workloads with the same answer. The append, wal and
// tree workloads have none, and the text says so: their figures are those of the system calls themselves.
func (r *Report) ioEngineTexts() []string {
	type said struct{ what, why string }
	var order []said
	by := map[said][]Ratio{}
	for _, w := range r.Workloads {
		var s said
		switch {
		case w.IOEngine != "":
			s = said{"I/O engine " + w.IOEngine, ": " + w.Why}
		case slices.ContainsFunc(w.Cells, func(c Cell) bool { return c.IOEngine == workload.Syscalls }):
			s.what = "plain system calls and no I/O engine"
		default:
			continue
		}
		if by[s] == nil {
			order = append(order, s)
		}
		by[s] = append(by[s], Ratio{Workload: w.Name})
	}
	out := make([]string, len(order))
	for i, s := range order {
		out[i] = s.what + " at " + names(by[s], len(r.Workloads)) + s.why
	}
	return out
}
