package check

import (
	"testing"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/golden"
	"plimsoll/load"
)

// TestHalted: time in which the worker did not run is a doubt where it is more than the margin, and nothing where it is the
// CPU controller's, the worker's own threads', or too little to see.
func TestHalted(t *testing.T) {
	const ms = time.Millisecond
	halt := func(cause string, d time.Duration) func(*workload.Result) {
		return func(r *workload.Result) { r.Halted = []workload.Halted{{Cause: cause, Times: 1, Time: d}} }
	}
	starved := func(share float64, allowed int, used time.Duration) func(*workload.Result) {
		return func(r *workload.Result) { r.Starved, r.Host.Allowed, r.Usage.User = share, allowed, used }
	}
	fetched := func(pages int64, waited float64) func(*workload.Result) {
		return func(r *workload.Result) { r.Fetched, r.Host.MemorySome = pages, waited }
	}
	var sheet golden.Sheet
	for _, x := range []struct {
		name string
		set  func(*workload.Result)
		want bool
	}{
		{"nothing", func(*workload.Result) {}, false},
		{"stopped", halt(workload.HaltSignal, 51*ms), true},
		{"within the margin", halt(workload.HaltSignal, 50*ms), false},
		{"a tracer", halt(workload.HaltTracer, 10*ms), true},
		{"frozen", halt(workload.HaltFreezer, 500*ms), true},
		{"the CPU controller", func(r *workload.Result) {
			halt(workload.HaltAll, 500*ms)(r)
			r.Throttled = workload.Throttled{Periods: 6, Time: 480 * ms}
		}, false},
		{"more than the CPU controller", func(r *workload.Result) {
			halt(workload.HaltAll, 500*ms)(r)
			r.Throttled = workload.Throttled{Periods: 6, Time: 380 * ms}
		}, true},
		{"a virtual machine that waits for its computer", func(r *workload.Result) {
			halt(workload.HaltAll, 500*ms)(r)
			r.Host.CPUWait = 0.48
		}, false},
		{"no CPU", starved(0.3, 2, 100*ms), true},
		{"no CPU, while CPUs were idle", func(r *workload.Result) {
			starved(0.7, 2, 100*ms)(r)
			r.Host.CPUs, r.Host.CPUBusy = 2, 0.2
		}, true},
		{"no CPU, while CPUs were idle at times", func(r *workload.Result) {
			starved(0.3, 2, 100*ms)(r)
			r.Host.CPUs, r.Host.CPUBusy = 2, 0.8
		}, true},
		{"no CPU, while some of other CPUs were idle", func(r *workload.Result) {
			starved(0.7, 1, 100*ms)(r)
			r.Host.CPUs, r.Host.CPUBusy = 2, 0.2
		}, true},
		{"seldom no CPU", starved(0.2, 2, 100*ms), false},
		{"its own threads wait for each other", starved(0.9, 1, 950*ms), false},
		{"not known", starved(-1, 2, 0), false},
		{"swapped out", fetched(7, 0.1), true},
		{"one page, and no time", fetched(1, 0.01), false},
		{"others wait for memory", fetched(0, 0.5), false},
	} {
		tr := &record.Trial{
			Status: record.Done, Spec: workload.Spec{Kind: workload.Append}, Where: []record.Where{{}}, Truth: []record.Truth{{}},
			Results: []workload.Result{{Elapsed: time.Second, WallElapsed: time.Second, Classes: []load.Class{{Name: "append", Ops: 5000, Bytes: 1 << 20}}}},
		}
		x.set(&tr.Results[0])
		var got string
		for _, w := range Trial(tr, nil) {
			if w.Check == Halted {
				got += w.Text
			}
		}
		if (got != "") != x.want {
			t.Errorf("%s: %q, want a doubt: %v", x.name, got, x.want)
		}
		if got != "" {
			sheet.Add(x.name, got)
		}
	}
	sheet.Check(t, "TestHalted.txt")
}
