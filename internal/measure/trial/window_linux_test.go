package trial

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/disktest"
)

// TestWindowOfSlowPlace: in a place that syncs in 20 ms, five commits fit into the plan's window. From the second block on, all
// cells of that workload get a window for more, and no other workload does.
func TestWindowOfSlowPlace(t *testing.T) {
	t.Parallel()
	slow := disktest.NewSlowFS(t, false)
	slow.Plan(map[string]time.Duration{"sync": 20 * time.Millisecond})
	r, n, _ := newRunner(t, `
name: slow
workloads:
  wal: {kind: wal, runtime: 100ms}
  append: {kind: append, runtime: 100ms}
engines: [host]
places: {dir: {}, slow: {kind: dir, path: `+slow.Dir+`}}
exclude: [{workload: append, place: slow}]
baseline: {engine: host, place: dir}
blocks: 2
`)
	if err := r.Run(t.Context(), &record.Run{ID: "r1", Seed: 7}); err != nil {
		t.Fatal(err)
	}
	for _, tr := range n.trials {
		long := tr.Spec.Runtime > 100*time.Millisecond
		if want := tr.Block > 0 && tr.Cell.Workload == "wal"; long != want {
			t.Errorf("%s in block %d: a window of %v", tr.Key, tr.Block, tr.Spec.Runtime)
		}
		if ops := tr.Results[0].Ops(); tr.Block > 0 && ops < leastOps*2/3 {
			t.Errorf("%s in block %d: %d operations", tr.Key, tr.Block, ops)
		}
	}
	if w := n.run.Warnings; len(w) != 1 || !strings.Contains(w[0].Text, "of wal fitted into a window of 100ms") {
		t.Errorf("warnings %+v, want one about the window", w)
	}
	// A resumed run goes on with the same windows.
	again := &Runner{Plan: r.Plan, run: &record.Run{}, Earlier: n.trials}
	wal, _ := r.Plan.Workload("wal")
	if got, want := again.stretched(wal, 1).Runtime, n.trials[len(n.trials)-1]; want.Cell.Workload == "wal" && got != want.Spec.Runtime {
		t.Errorf("resumed: a window of %v, want %v", got, want.Spec.Runtime)
	}
}
