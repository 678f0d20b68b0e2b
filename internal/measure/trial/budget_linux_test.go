package trial

import (
	"testing"
	"time"

	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
)

// TestFit: the number of blocks follows from the time of the first, and falls if later ones are slower.
func TestFit(t *testing.T) {
	for _, row := range []struct {
		name         string
		budget, took time.Duration
		blocks, done int
		want         int
	}{
		{"no budget", 0, time.Second, 20, 1, 20},
		{"more", 100 * time.Second, 2 * time.Second, 20, 1, 50},
		{"as many as a plan may have", time.Hour, 10 * time.Millisecond, 20, 1, plan.MaxBlocks},
		{"fewer", 10 * time.Second, 3 * time.Second, 20, 1, 3},
		{"one at least", 10 * time.Second, 30 * time.Second, 20, 1, 1},
		{"slower later", 100 * time.Second, 60 * time.Second, 50, 10, 16},
		{"faster later", 100 * time.Second, 10 * time.Second, 50, 10, 50},
		{"all over", 100 * time.Second, 101 * time.Second, 50, 10, 10},
	} {
		r, _, _ := newRunner(t, twoClients)
		r.Budget, r.Plan.Blocks, r.run = row.budget, row.blocks, &record.Run{Blocks: row.blocks}
		r.Observer = nobody{}
		if r.fit(row.done, row.took); r.Plan.Blocks != row.want || r.run.Blocks != row.want {
			t.Errorf("%s: %d blocks, %d recorded, want %d", row.name, r.Plan.Blocks, r.run.Blocks, row.want)
		}
	}
}

// TestBudget: a run ends about when it is to, its blocks are complete, and its plan says how many there were, so that it can be
// resumed.
func TestBudget(t *testing.T) {
	t.Parallel()
	r, n, _ := newRunner(t, `
name: budget
workloads: {append: {kind: append, runtime: 50ms}}
engines: [host]
places: {dir: {}}
blocks: 500
`)
	r.Budget = 2 * time.Second
	start := time.Now()
	run := &record.Run{ID: "r1", Blocks: 500, PlanText: string(r.Plan.Marshal())}
	if err := r.Run(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	again, err := plan.Parse("again", []byte(n.run.PlanText))
	if err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string]int{"trials of each cell": len(n.trials) / len(r.cells), "blocks of the plan": again.Blocks, "blocks of the run": n.run.Blocks} {
		if got != r.Plan.Blocks || got < 2 || got > 100 {
			t.Errorf("%d %s, want %d, between 2 and 100", got, what, r.Plan.Blocks)
		}
	}
}
