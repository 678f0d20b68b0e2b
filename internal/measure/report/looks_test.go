package report

import (
	"math"
	"testing"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/golden"
)

// width is how wide a cell's interval is, on a log scale.
func width(c *Cell) float64 { return math.Log(float64(c.Compared.High / c.Compared.Low)) }

// cellOf returns the cell of the first workload with a label.
func cellOf(t *testing.T, r *Report, label string) *Cell {
	t.Helper()
	for i := range r.Workloads[0].Cells {
		if c := &r.Workloads[0].Cells[i]; c.Label == label {
			return c
		}
	}
	t.Fatalf("no cell %s", label)
	return nil
}

// TestLooks: who saw the verdicts before pays with wider intervals; a cell that was left out keeps the blocks that it has,
// and no block counts as failed.
func TestLooks(t *testing.T) {
	f := newFixture()
	f.run.Blocks = 12
	f.fill(thePlaces[:4], 1)
	once := built(f.run, f.trials)
	f.run.Looks = []record.Look{{Blocks: 6}, {Blocks: 12}}
	twice := built(f.run, f.trials)
	out, on := cellOf(t, twice, "oci layer"), cellOf(t, twice, "oci bind")
	if a, b := width(cellOf(t, once, on.Label)), width(on); b <= 1.02*a {
		t.Errorf("seen once the interval is %.4f wide, seen twice %.4f: want it wider", a, b)
	}

	f.run.Looks[0].LeftOut = []string{out.Key}
	var trials []record.Trial
	for _, tr := range f.trials {
		if f.run.MeasuredIn(tr.Key, tr.Block) {
			trials = append(trials, tr)
		}
	}
	r := built(f.run, trials)
	out, on = cellOf(t, r, out.Label), cellOf(t, r, on.Label)
	if out.Compared.N != 6 || on.Compared.N != 12 {
		t.Errorf("blocks: %d of the cell that was left out and %d of the other, want 6 and 12", out.Compared.N, on.Compared.N)
	}
	for _, c := range []*Cell{out, on} {
		if c.FailedN > 0 || c.Kind == Missing {
			t.Errorf("%s: %s", c.Label, c.Verdict)
		}
	}
	f.run.Status = record.Interrupted
	unfinished := built(f.run, trials)
	golden.Check(t, "looks.txt", r.looksText()+"\n"+unfinished.Remarks[0].Text+"\n")

	needed := r.Needed([]OpenCell{{Key: on.Key}})
	want := map[string]bool{on.Key: true, f.run.Baseline[on.Workload]: true}
	for _, c := range r.Workloads[0].Cells {
		if c.Control {
			want[c.Key] = true
		}
	}
	for _, c := range r.Workloads[0].Cells {
		if needed[c.Key] != want[c.Key] {
			t.Errorf("%s is needed: %t", c.Label, needed[c.Key])
		}
	}
}
