package trial

import (
	"context"
	"errors"
	"slices"
	"testing"

	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
)

const twoPlaces = `
name: two
workloads: {append: {kind: append, count: 20}}
engines: [host]
places: {dir: {}, tmpfs: {}}
baseline: {engine: host, place: dir}
blocks: 12
`

// counts is how many trials each cell has, by its place; "#" is the A/A control.
func counts(trials []record.Trial) map[string]int {
	n := map[string]int{}
	for _, t := range trials {
		name := t.Cell.Place
		if t.Cell.Control {
			name = "#"
		}
		n[name]++
	}
	return n
}

// TestReview: a run is asked at half-time and at its end, goes on without what is left out, and knows how often its verdicts
// could be seen. What is interrupted then is resumed without it too.
func TestReview(t *testing.T) {
	t.Parallel()
	r, n, _ := newRunner(t, twoPlaces)
	var asked []int
	leaveOut := func(p Progress) Review {
		asked = append(asked, p.Done)
		switch p.Done {
		case 6:
			return Review{Say: "half", Blocks: 40} // No decision is taken there.
		case 12:
			return Review{Blocks: 15, LeftOut: []string{r.Plan.Key(record.Cell{Workload: "append", Engine: "host", Place: "tmpfs", Limits: "none", Clients: 1})}}
		}
		return Review{Say: "all settled"}
	}
	r.Review = leaveOut
	ctx, cancel := context.WithCancel(t.Context())
	n.stop = func() {
		if n.told == 12*3+1 {
			cancel()
		}
	}
	run := &record.Run{ID: "r1", Seed: 3, Blocks: 12}
	if err := r.Run(ctx, run); !errors.Is(err, ErrInterrupted) {
		t.Fatalf("Run = %v, want ErrInterrupted", err)
	}
	if want := []int{6, 12}; !slices.Equal(asked, want) {
		t.Errorf("asked after %v blocks, want %v", asked, want)
	}
	again, err := plan.Parse("again", []byte(n.run.PlanText))
	if err != nil {
		t.Fatal(err)
	}
	if again.Blocks != 15 || n.run.Blocks != 15 {
		t.Errorf("the plan has %d blocks and the run %d, want 15", again.Blocks, n.run.Blocks)
	}

	r2, n2, _ := newRunner(t, twoPlaces)
	r2.Plan.Blocks, r2.Earlier, r2.Done, r2.Review = 15, n.trials, map[Key]bool{}, leaveOut
	for _, tr := range n.trials {
		r2.Done[Key{tr.Key, tr.Block}] = true
	}
	asked = nil
	if err := r2.Run(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if want := []int{15}; !slices.Equal(asked, want) {
		t.Errorf("resumed in the last blocks it was asked after %v, want %v", asked, want)
	}
	got := counts(slices.Concat(n.trials, n2.trials))
	for place, want := range map[string]int{"dir": 15, "#": 15, "tmpfs": 12} {
		if got[place] != want {
			t.Errorf("%s has %d trials, want %d", place, got[place], want)
		}
	}
	looks := n2.run.Looks
	if len(looks) != 2 {
		t.Fatalf("looks %+v, want two", looks)
	}
	if looks[0].Blocks != 12 || len(looks[0].LeftOut) != 1 {
		t.Errorf("first look %+v, want one after 12 blocks that leaves out a cell", looks[0])
	}
	if looks[1].Blocks != 15 || len(looks[1].LeftOut) != 0 {
		t.Errorf("second look %+v, want one after 15 blocks that leaves out none", looks[1])
	}
}

// TestReviewOfComplete: a run that was complete, and seen, is asked at once what to do, and its first look is counted once.
func TestReviewOfComplete(t *testing.T) {
	t.Parallel()
	r, n, _ := newRunner(t, twoPlaces)
	r.Plan.Blocks = 2
	run := &record.Run{ID: "r1", Seed: 3, Blocks: 2}
	if err := r.Run(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	r2, n2, _ := newRunner(t, twoPlaces)
	r2.Plan.Blocks, r2.Earlier, r2.Done = 2, n.trials, map[Key]bool{}
	for _, tr := range n.trials {
		r2.Done[Key{tr.Key, tr.Block}] = true
	}
	r2.Review = func(p Progress) Review { return Review{Blocks: 3} }
	n2.stop = func() { r2.Review = nil }
	if err := r2.Run(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if len(n2.trials) != 3 {
		t.Errorf("%d trials, want those of one block", len(n2.trials))
	}
	var looks []int
	for _, l := range n2.run.Looks {
		looks = append(looks, l.Blocks)
	}
	if want := []int{2, 3}; !slices.Equal(looks, want) {
		t.Errorf("looks after %v blocks, want %v", looks, want)
	}
}
