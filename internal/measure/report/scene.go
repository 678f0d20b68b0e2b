package report

import (
	"fmt"

	"plimsoll/internal/measure/stats"
)

// A scene is the cells that are compared with one another: of one workload, under one set of limits, with one number of
// clients.
type scene struct {
	// name is the workload's, with the limits and clients if it has several sets: "wal under capped". words are the
	// workload's everyday words.
	name, words string
	// base is the baseline. Others are the other cells, without the A/A control.
	base   *Cell
	others []*Cell
}

// scenes returns the scenes that have a baseline, in the report's order.
func (r *Report) scenes() []*scene {
	var out []*scene
	several := r.severalClients()
	for i := range r.Workloads {
		w := &r.Workloads[i]
		type set struct {
			limits  string
			clients int
		}
		at := map[set]*scene{}
		var order []*scene
		for j := range w.Cells {
			c := &w.Cells[j]
			key := set{c.Limits, c.Clients}
			s := at[key]
			if s == nil {
				s = &scene{name: w.Name, words: w.everyday}
				if !plainLimits(c.Limits) {
					s.name += " under " + c.Limits
				}
				if several {
					s.name += fmt.Sprintf(" with %d %s", c.Clients, plural(c.Clients, "client", "clients"))
				}
				at[key] = s
				order = append(order, s)
			}
			switch {
			case c.isBaselinePlace():
				s.base = c
			case !c.Control && !c.costsLimits():
				s.others = append(s.others, c)
			}
		}
		for _, s := range order {
			if s.base != nil {
				out = append(out, s)
			}
		}
	}
	return out
}

// isBaselinePlace reports whether the cell is a baseline, or the baseline's place under other limits.
func (c *Cell) isBaselinePlace() bool {
	if c.Kind == Base {
		return true
	}
	return c.costsLimits() && c.Engine == c.own.Engine && c.Places() == c.own.Places()
}

// proven reports whether the verdict on the cell is proven and not in doubt.
func (c *Cell) proven() bool {
	if c.own == nil || c.Compared == nil || c.Compared.Tentative {
		return false
	}
	return c.Compared.Low.Known() && !c.Doubt && !c.own.Doubt
}

// where names the cell's engine and place alone.
func (c *Cell) where() string { return c.Engine + " " + c.Places() }

// A span is an interval of ratios, all on one side of 1.
type span struct{ low, high Num }

// with returns the span that holds both.
func (s span) with(o span) span { return span{min(s.low, o.low), max(s.high, o.high)} }

// overlaps reports whether the spans have ratios in common.
func (s span) overlaps(o span) bool { return s.low <= o.high && o.low <= s.high }

// text is the span as a verdict says it: "slower by 12-19 %".
func (s span) text() string {
	verdict := stats.Faster
	if s.high < 1 {
		verdict = stats.Slower
	}
	return stats.Comparison{Verdict: verdict, Low: float64(s.low), High: float64(s.high)}.Sentence()
}
