package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/size"
)

// A Concern is one kind of warning over the whole run, with its gravest case. Most cells of a report have the same few
// kinds; here each stands once.
type Concern struct {
	// Mark is "!1" for a doubt, "3" for a note. Doubts come first.
	Mark     string `json:"mark"`
	Check    string `json:"check"`
	Severity string `json:"severity"`
	// Text is the warning of the trial in which it is gravest, or of the first one if the evidence can't be graded. Cell
	// and Workload name one cell that has it.
	Text     string `json:"text"`
	Graded   bool   `json:"graded,omitempty"`
	Workload string `json:"workload"`
	Cell     string `json:"cell"`
	// Trials and Cells count where the warning was raised; OfCells is the number of cells of the run. A control counts as
	// one cell with its baseline.
	Trials  int `json:"trials"`
	Cells   int `json:"cells"`
	OfCells int `json:"of_cells"`
}

// text is the sentence about a concern: its worst case, and how often it occurs.
func (c Concern) text() string {
	at := c.Workload + ", " + c.Cell
	trials := size.Plural(c.Trials, "trial")
	if c.Cells == 1 {
		return c.Text + " (" + trials + " of " + at + ")"
	}
	which := "first"
	if c.Graded {
		which = "worst"
	}
	return fmt.Sprintf("%s (%s in %d of %s; this is the %s: %s)", c.Text, trials, c.Cells, size.Plural(c.OfCells, "cell"), which, at)
}

// addConcerns merges the footnotes of all workloads by kind, those that concern most cells first. Each footnote gets the
// mark of its concern.
func (r *Report) addConcerns(notes []notebook) {
	type sum struct {
		Concern
		degree float64
		feet   []*Footnote
		// trials and cells are those with the warning. Several footnotes of one kind may share them.
		trials map[[3]int]bool
		cells  map[[2]int]bool
	}
	var all []*sum
	by := map[string]*sum{}
	cells := 0
	for i := range r.Workloads {
		w := &r.Workloads[i]
		cells += countCells(w.Cells)
		for j, e := range notes[i].entries {
			key := e.severity + "\x00" + e.check + "\x00" + kindOfText(e.masked)
			s := by[key]
			if s == nil {
				s = &sum{Concern: Concern{Check: e.check, Severity: e.severity}, degree: math.Inf(-1), trials: map[[3]int]bool{}, cells: map[[2]int]bool{}}
				by[key] = s
				all = append(all, s)
			}
			for _, m := range e.marks {
				s.cells[[2]int{i, baseOf(w.Cells, m.row)}] = true
				for _, t := range m.trials {
					s.trials[[3]int{i, m.row, t}] = true
				}
			}
			if e.degree > s.degree || s.Text == "" {
				s.degree, s.Text = e.degree, w.Footnotes[j].Text
				s.Workload, s.Cell = w.Name, w.Cells[e.worst].Label
			}
			s.feet = append(s.feet, &w.Footnotes[j])
		}
	}
	for _, s := range all {
		s.Cells, s.Trials = len(s.cells), len(s.trials)
	}
	slices.SortStableFunc(all, func(a, b *sum) int {
		return cmp.Or(cmp.Compare(severityOrder(a.Severity), severityOrder(b.Severity)), -cmp.Compare(a.Cells, b.Cells), -cmp.Compare(a.Trials, b.Trials))
	})
	for i, s := range all {
		s.Mark = markOf(i+1, s.Severity)
		s.Graded = !math.IsInf(s.degree, -1)
		s.OfCells = cells
		for _, f := range s.feet {
			f.Concern = s.Mark
		}
		r.Concerns = append(r.Concerns, s.Concern)
	}
}

// markOf is the mark of the n-th warning of a list.
func markOf(n int, severity string) string {
	if severity == record.Doubt {
		return fmt.Sprintf("!%d", n)
	}
	return fmt.Sprint(n)
}

// kindOfText is the beginning of a masked warning, up to its explanation.
func kindOfText(masked string) string {
	if i := strings.IndexAny(masked, ",;:("); i > 0 {
		return masked[:i]
	}
	return masked
}

// marksOf lists the doubts of a cell by their marks in the report's concerns, each once.
func (w *Workload) marksOf(c *Cell) string {
	var out []string
	for _, m := range c.Marks {
		if f := w.Footnotes[m-1]; f.Severity == record.Doubt && !slices.Contains(out, f.Concern) {
			out = append(out, f.Concern)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	return strings.Join(out, " ")
}

// inDoubt counts the ratios in doubt, with the baseline's own figures: as many as have a "!" in the overview.
func (r *Report) inDoubt() (n, of int) {
	for _, a := range r.Answers {
		for _, x := range a.Ratios {
			of += bit(x.Ratio.Known())
			n += bit(x.Doubt)
		}
	}
	return n, of
}

// doubtText says how many ratios are in doubt, to stand before the reasons.
func (r *Report) doubtText() string {
	n, of := r.inDoubt()
	switch {
	case n == 0:
		return "no figure is in doubt: fewer than half of the trials behind each have one of these doubts"
	case n == of && n > 1:
		return fmt.Sprintf("all %d figures are in doubt (!): at least half of the trials behind them, or of the baseline's, have a doubt; "+
			"they may show other work on the machine and not the place", n)
	}
	return fmt.Sprintf("%d of %s %s in doubt (!): at least half of the trials behind %s, or of the baseline's, have a doubt",
		n, size.Plural(of, "figure"), plural(n, "is", "are"), plural(n, "it", "them"))
}

// A FailureGroup is an error and the trials that died of it, in one or more cells.
type FailureGroup struct {
	Failure
	// Cells names them: "docker layer at wal".
	Cells []string
}

// failures groups the failed trials of the run by their errors. A daemon that goes away kills the cells of every workload,
// and is reported once.
func (r *Report) failures() []FailureGroup {
	var out []FailureGroup
	at := map[string]int{}
	for _, w := range r.Workloads {
		for _, c := range w.Cells {
			for _, f := range c.Failures {
				key := f.Phase + "\x00" + mask(f.Error)
				i, ok := at[key]
				if !ok {
					i = len(out)
					at[key] = i
					out = append(out, FailureGroup{Failure: f})
					out[i].Trials = 0
				}
				out[i].Trials += f.Trials
				out[i].Cells = append(out[i].Cells, c.Label+" at "+w.Name)
			}
		}
	}
	return out
}

// text describes a group: "FAILED in 6 trials at layout: no space (docker layer at seqwrite)".
func (g FailureGroup) text() string {
	cells := g.Cells
	more := ""
	if len(cells) > maxWhere/2 {
		more = fmt.Sprintf(" and %d more cells", len(cells)-maxWhere/2)
		cells = cells[:maxWhere/2]
	}
	return strings.Join(cells, ", ") + more + ": " + g.Failure.text()
}
