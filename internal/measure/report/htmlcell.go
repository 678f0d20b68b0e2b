package report

import (
	"strings"

	"plimsoll/internal/measure/record"
)

// A doubtView is one doubt at the top of the page, with the reasons for it.
type doubtView struct {
	Text string
	Why  []string
}

// doubtViews lists the doubts about the run, then its failures, then the figures in doubt. Each kind of warning stands
// once, with its worst case; the marks in the tables explain the others.
func (r *Report) doubtViews() (out []doubtView) {
	for _, m := range r.Remarks {
		if m.Severity == record.Doubt {
			out = append(out, doubtView{Text: m.Text})
		}
	}
	for _, g := range r.failures() {
		out = append(out, doubtView{Text: g.text()})
	}
	if text := r.doubtText(); text != "" {
		v := doubtView{Text: text}
		for _, c := range r.Concerns {
			if c.Severity == record.Doubt {
				v.Why = append(v.Why, c.text())
			}
		}
		out = append(out, v)
	}
	return out
}

// A percentileView is a percentile in a table of the page. Few is set instead where there were too few I/Os, and says how
// many.
type percentileView struct {
	Value, Few string
}

// percentileViews are the columns p50, p99 and p99.9; all are empty if l is nil.
func (l *Latency) percentileViews() []percentileView {
	out := make([]percentileView, 3)
	if l == nil {
		return out
	}
	for i, n := range []Num{l.P50, l.P99, l.P999} {
		value, few, _ := strings.Cut(strings.TrimSuffix(l.percentileText(n), ")"), " (")
		out[i] = percentileView{value, few}
	}
	return out
}

// verdictView splits a verdict into the words of its first line and the small print below: what would settle it, where the
// data is, and the test's p.
func (c *Cell) verdictView(p string) (short, aside string) {
	short, aside, _ = strings.Cut(c.short(), ", ")
	if p == "" {
		return short, aside
	}
	if aside != "" {
		aside += " · "
	}
	return short, aside + "p\u00a0" + p
}
