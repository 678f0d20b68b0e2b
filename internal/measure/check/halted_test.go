package check

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
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
	for _, x := range []struct {
		name string
		set  func(*workload.Result)
		want string
	}{
		{"nothing", func(*workload.Result) {}, ""},
		{"stopped", halt(workload.HaltSignal, 51*ms), "did not run for 51 ms, 5 % of the window, although no I/O held it up: a signal had stopped it"},
		{"within the margin", halt(workload.HaltSignal, 50*ms), ""},
		{"a tracer", halt(workload.HaltTracer, 10*ms), "a debugger or tracer"},
		{"frozen", halt(workload.HaltFreezer, 500*ms), "50 % of the window, although no I/O held it up: the freezer"},
		{"the CPU controller", func(r *workload.Result) {
			halt(workload.HaltAll, 500*ms)(r)
			r.Throttled = workload.Throttled{Periods: 6, Time: 480 * ms}
		}, ""},
		{"more than the CPU controller", func(r *workload.Result) {
			halt(workload.HaltAll, 500*ms)(r)
			r.Throttled = workload.Throttled{Periods: 6, Time: 380 * ms}
		}, "did not run for 120 ms"},
		{"a virtual machine that waits for its computer", func(r *workload.Result) {
			halt(workload.HaltAll, 500*ms)(r)
			r.Host.CPUWait = 0.48
		}, ""},
		{"no CPU", starved(0.3, 2, 100*ms), "For 30 % of the window the worker was ready to run, but had no CPU: other work used the 2 CPUs"},
		{"no CPU, while CPUs were idle", func(r *workload.Result) {
			starved(0.7, 2, 100*ms)(r)
			r.Host.CPUs, r.Host.CPUBusy = 2, 0.2
		}, "For 70 % of the window the worker was ready to run, but had no CPU: CPUs that it may use were idle, but something kept it from them, such as a quota"},
		{"no CPU, while CPUs were idle at times", func(r *workload.Result) {
			starved(0.3, 2, 100*ms)(r)
			r.Host.CPUs, r.Host.CPUBusy = 2, 0.8
		}, "other work used the 2 CPUs that it may use for a part of the time; or they were idle, but something kept it from them, such as a quota"},
		{"no CPU, while some of other CPUs were idle", func(r *workload.Result) {
			starved(0.7, 1, 100*ms)(r)
			r.Host.CPUs, r.Host.CPUBusy = 2, 0.2
		}, "other work used the CPU"},
		{"seldom no CPU", starved(0.2, 2, 100*ms), ""},
		{"its own threads wait for each other", starved(0.9, 1, 950*ms), ""},
		{"not known", starved(-1, 2, 0), ""},
		{"swapped out", fetched(7, 0.1), "dropped or swapped out 7 pages"},
		{"one page, and no time", fetched(1, 0.01), ""},
		{"others wait for memory", fetched(0, 0.5), ""},
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
		if (got != "") != (x.want != "") || !strings.Contains(got, x.want) {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}
}
