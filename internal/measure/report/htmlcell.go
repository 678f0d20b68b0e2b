package report

import "strings"

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
