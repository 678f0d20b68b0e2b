package report

import (
	"slices"
	"strings"
)

// An absoluteRow is a row of absolute figures in the overview: a ratio of 0.5 means little without them.
type absoluteRow struct {
	// Label is "host dir, rate". Values holds one value a workload, "" where there is none.
	Label  string
	Values []string
}

// absolute returns the rate and the p99 of the baseline for each workload, or those of every place where there is no
// baseline and so no ratio.
func (r *Report) absolute() []absoluteRow {
	if r.Against != "" {
		return r.figures(r.Against, (*Workload).base)
	}
	var all []absoluteRow
	for i := range r.Answers {
		a := &r.Answers[i]
		all = append(all, r.figures(a.label(), a.cell)...)
	}
	return all
}

// figures returns the rows of the cells that of picks from the workloads; none if no rate of them is known.
func (r *Report) figures(label string, of func(*Workload) *Cell) []absoluteRow {
	head := ", rate"
	if slices.ContainsFunc(r.Workloads, func(w Workload) bool { return w.Metric.LowerIsBetter() }) {
		head = ", rate or time"
	}
	rate, latency := absoluteRow{Label: label + head}, absoluteRow{Label: label + ", p99"}
	known := false
	for i := range r.Workloads {
		w := &r.Workloads[i]
		value, p99 := "", ""
		if c := of(w); c != nil {
			value, p99 = w.figure(c)
			known = known || c.Median.Known()
		}
		rate.Values, latency.Values = append(rate.Values, value), append(latency.Values, p99)
	}
	if !known {
		return nil
	}
	return []absoluteRow{rate, latency}
}

// figure returns the rate and the p99 of a cell, "" where they aren't known.
func (w *Workload) figure(c *Cell) (rate, p99 string) {
	u := rateUnit(w.Metric, []Cell{*c})
	rate = u.format(c.Median) + " " + u.name
	if w.Metric.Unit == "1/s" && u.div == 1 {
		rate = u.format(c.Median) + "/s"
	}
	if l := c.of(w.Class); l != nil {
		p99 = durationText(l.P99)
	}
	return rate, p99
}

// label names the place as the overview does: "host dir", "host nobarrier, less safe".
func (a *Answer) label() string {
	s := strings.TrimSpace(a.Engine + " " + a.Place)
	if c := a.caution(); c != "" {
		s += ", " + string(c)
	}
	return s
}

// isAbout reports whether a cell is of the answer's engine and place.
func (a *Answer) isAbout(c *Cell) bool {
	return !c.Control && c.Engine == a.Engine && placeLabel(c.Cell) == a.Place
}

// cell is the answer's cell in a workload, the one with fewest clients; nil if nothing was measured there.
func (a *Answer) cell(w *Workload) *Cell {
	var out *Cell
	for i := range w.Cells {
		c := &w.Cells[i]
		if a.isAbout(c) && c.Median.Known() && (out == nil || c.Clients < out.Clients) {
			out = c
		}
	}
	return out
}

// withRatios returns the answers with a row of ratios in the overview. It leaves out skipped ones, and those that have only
// absolute figures for want of a baseline.
func (r *Report) withRatios() []Answer {
	return slices.DeleteFunc(slices.Clone(r.Answers), func(a Answer) bool {
		return a.skipped() || r.Against == "" && a.figuresOnly() && len(r.figures("", a.cell)) > 0
	})
}

// figuresOnly reports whether no workload has more than a figure: no ratio, and no failure.
func (a *Answer) figuresOnly() bool {
	return !slices.ContainsFunc(a.Ratios, func(x Ratio) bool { return x.Kind != Missing && x.Kind != Skipped })
}

// base is the workload's baseline, the one with fewest clients; nil if there is none.
func (w *Workload) base() *Cell {
	var out *Cell
	for i := range w.Cells {
		if c := &w.Cells[i]; c.Kind == Base && (out == nil || c.Clients < out.Clients) {
			out = c
		}
	}
	return out
}
