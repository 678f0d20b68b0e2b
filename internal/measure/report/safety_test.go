package report

import "testing"

// TestExtremeSafety: what a place lacks in safety stands behind the figure and its workload, not between them.
func TestExtremeSafety(t *testing.T) {
	a := &Answer{Engine: "host", Place: "fast", Ratios: make([]Ratio, 2)}
	wal := Ratio{Workload: "wal", Ratio: 2.5, Kind: Faster, verdict: "2-3 times faster", aside: ", less safe"}
	tree := Ratio{Workload: "tree", Ratio: 1.15, Kind: Faster, verdict: "1.1-1.2 times faster; 1 of 6 trials FAILED", aside: ", less safe"}
	for _, x := range []struct {
		ratios []Ratio
		want   string
	}{
		{[]Ratio{wal}, "2-3 times faster at wal, less safe"},
		{[]Ratio{tree}, "1.1-1.2 times faster at tree, less safe; 1 of 6 trials FAILED"},
		{[]Ratio{wal, tree}, "faster at both workloads, most at wal (2-3 times, less safe)"},
	} {
		if got := a.extreme(Faster, x.ratios, false); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}
