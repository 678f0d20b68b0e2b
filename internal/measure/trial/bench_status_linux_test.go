package trial

import (
	"slices"
	"testing"
	"time"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/workertest"
	"plimsoll/load"
)

// TestBenchStatus: a stage in a worker answers while it runs, job by job, and isn't there to be asked before and after.
func TestBenchStatus(t *testing.T) {
	t.Parallel()
	answers := make(chan *workload.Result, 100)
	b := &Bench{
		Engine: host.New(t.TempDir(), workertest.Source(t)), Spec: engine.Spec{Place: place.Spec{Name: "dir", Kind: place.Dir}},
		Run: &record.Run{ID: "r"}, Cell: record.Cell{Engine: "host", Place: "dir"}, OnStatus: func(r *workload.Result) { answers <- r },
	}
	if err := b.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	if b.Ask() {
		t.Error("something was asked before it began")
	}
	job := load.Job{RW: load.RandRW, IOEngine: load.Null, Size: 1 << 20, RateIOPS: 1000, Runtime: 600 * time.Millisecond, Status: true}
	late := job
	late.StartDelay = 300 * time.Millisecond
	ended := make(chan *record.Trial)
	go func() {
		tr, err := b.Trial(t.Context(), workload.Spec{Name: "s", Kind: workload.Stage, Jobs: []workload.StageJob{{Name: "a", Job: job}, {Name: "b", Job: late}}}, nil)
		if err != nil {
			t.Error(err)
		}
		ended <- tr
	}()
	first, last := (*workload.Result)(nil), (*workload.Result)(nil)
	for {
		select {
		case r := <-answers:
			if first == nil {
				first = r
			}
			last = r
			continue
		case tr := <-ended:
			if tr == nil || first == nil {
				t.Fatalf("%+v, the first answer %+v", tr, first)
			}
			if len(first.Stage) != 2 || len(last.Stage) != 2 {
				t.Fatalf("the answers have %d and %d jobs, want 2", len(first.Stage), len(last.Stage))
			}
			if first.Stage[0].Name != "a" || first.Stage[1].Name != "b" {
				t.Fatalf("the first answer has the jobs %q and %q, want a and b", first.Stage[0].Name, first.Stage[1].Name)
			}
			all := tr.Results[0].Stage
			for i := range all {
				if ops := []int64{first.Stage[i].Ops(), last.Stage[i].Ops(), all[i].Ops()}; !slices.IsSorted(ops) {
					t.Errorf("job %d: %d I/Os in the first answer, the last and the result", i, ops)
				}
			}
			if last.Stage[0].Ops() == 0 {
				t.Error("no I/Os of the first job in the last answer")
			}
			if b.Ask() {
				t.Error("something was asked after its end")
			}
			return
		case <-time.After(50 * time.Millisecond):
			b.Ask()
		}
	}
}
