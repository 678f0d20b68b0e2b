package report

import (
	"testing"

	"plimsoll/internal/measure/record"
)

// TestExtremeSafety: what a place lacks in safety stands behind the figure and its workload, not between them.
func TestExtremeSafety(t *testing.T) {
	cell := func(verdict string) Cell {
		return Cell{Cell: record.Cell{Engine: "host", Place: "fast"}, Verdict: verdict, aside: ", less safe", Kind: Faster}
	}
	r := &Report{Workloads: []Workload{
		{Name: "wal", Cells: []Cell{cell("2-3 times faster, less safe")}},
		{Name: "tree", Cells: []Cell{cell("1.1-1.2 times faster, less safe; 1 of 6 trials FAILED")}},
	}}
	a := &Answer{Engine: "host", Place: "fast", Ratios: make([]Ratio, 2)}
	wal, tree := Ratio{Workload: "wal", Ratio: 2.5}, Ratio{Workload: "tree", Ratio: 1.15}
	for _, x := range []struct {
		ratios []Ratio
		want   string
	}{
		{[]Ratio{wal}, "2-3 times faster at wal, less safe"},
		{[]Ratio{tree}, "1.1-1.2 times faster at tree, less safe; 1 of 6 trials FAILED"},
		{[]Ratio{wal, tree}, "faster at both workloads, most at wal (2-3 times, less safe)"},
	} {
		if got := a.extreme(r, Faster, x.ratios, false); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}
