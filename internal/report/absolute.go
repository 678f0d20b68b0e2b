package report

// An absoluteRow is a row of the overview with figures of the baseline itself: a ratio of 0.5
// says little to who doesn't know of what.
type absoluteRow struct {
	// Label is "host dir, per second", Values hold one a workload, "" where there is none.
	Label  string
	Values []string
}

// absolute is the baseline's rate and p99 for each workload; without a baseline there is none.
func (r *Report) absolute() []absoluteRow {
	if r.Against == "" {
		return nil
	}
	rate, tail := absoluteRow{Label: r.Against + ", rate"}, absoluteRow{Label: r.Against + ", p99"}
	known := false
	for i := range r.Workloads {
		w := &r.Workloads[i]
		value, p99 := "", ""
		if c := w.base(); c != nil {
			u := rateUnit(w.Metric, []Cell{*c})
			value = u.format(c.Median) + " " + u.name
			if w.Metric.Unit != "B/s" && u.div == 1 {
				value = u.format(c.Median) + "/s"
			}
			if l := c.of(w.Class); l != nil {
				p99 = durationText(l.P99)
			}
			known = known || c.Median.Known()
		}
		rate.Values, tail.Values = append(rate.Values, value), append(tail.Values, p99)
	}
	if !known {
		return nil
	}
	return []absoluteRow{rate, tail}
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
