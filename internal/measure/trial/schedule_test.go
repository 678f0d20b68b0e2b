package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// TestOrder: each block has every cell once, those of a workload together, in an order of its own.
func TestOrder(t *testing.T) {
	cells := func(workloads, each int) (all []record.Cell) {
		for i := range workloads * each { // A plan's cells of a workload need not be neighbours.
			all = append(all, record.Cell{Workload: fmt.Sprint(i % workloads), Place: fmt.Sprint(i / workloads)})
		}
		return all
	}
	seen := map[string]bool{}
	for _, size := range [][2]int{{0, 0}, {1, 1}, {1, 7}, {7, 1}, {5, 8}} {
		all := cells(size[0], size[1])
		for block := range 5 {
			o := order(7, block, all)
			if !slices.Equal(o, order(7, block, all)) {
				t.Errorf("order(7, %d, %v) differs from itself", block, size)
			}
			for i, v := range slices.Sorted(slices.Values(o)) {
				if i != v || len(o) != len(all) {
					t.Fatalf("order(7, %d, %v) = %v is not a permutation", block, size, o)
				}
			}
			changes := 1
			for i := 1; i < len(o); i++ {
				if all[o[i]].Workload != all[o[i-1]].Workload {
					changes++
				}
			}
			if len(o) > 0 && changes != size[0] {
				t.Errorf("order(7, %d, %v) has the workloads in %d groups", block, size, changes)
			}
			if len(o) == 40 {
				seen[fmt.Sprint(o)] = true
			}
		}
	}
	if len(seen) != 5 {
		t.Errorf("5 blocks had %d orders", len(seen))
	}
	if all := cells(5, 8); slices.Equal(order(7, 0, all), order(8, 0, all)) {
		t.Error("two seeds give the same order")
	}
}

func TestChooseEngine(t *testing.T) {
	all := probed{"all", []load.Probe{{Engine: load.IOUring, OK: true}, {Engine: load.LinuxAIO, OK: true}, {Engine: load.PSync, OK: true}}}
	noRing := probed{"noring", []load.Probe{{Engine: load.IOUring, Reason: "seccomp"}, {Engine: load.LinuxAIO, OK: true}, {Engine: load.PSync, OK: true}}}
	only := probed{"only", []load.Probe{{Engine: load.PSync, OK: true}}}
	for _, row := range []struct {
		name, want  string
		direct      bool
		cells       []probed
		engine, why string
	}{
		{"nothing works", plan.Common, true, []probed{{"bare", nil}}, load.PSync, "psync does not in bare: not tried there"},
		{"no cells", plan.Common, true, nil, load.IOUring, "the strongest there is"},
		{"the plan's", load.PSync, true, []probed{all}, load.PSync, "the plan asks"},
		{"best", plan.Best, true, []probed{all, only}, "", "cells may differ"},
		{"all", plan.Common, true, []probed{all, all}, load.IOUring, "the strongest there is"},
		{"empty is common", "", true, []probed{all}, load.IOUring, ""},
		{"one without ring", plan.Common, true, []probed{all, noRing}, load.LinuxAIO, "io_uring does not in noring: seccomp"},
		{"buffered has no aio", plan.Common, false, []probed{all, noRing}, load.PSync, "io_uring does not in noring: seccomp"},
		{"not tried", plan.Common, true, []probed{noRing, only}, load.PSync, "linux-aio does not in only: not tried there"},
	} {
		spec := workload.Spec{Job: load.Job{Direct: row.direct}}
		got := chooseEngine(spec, row.want, row.cells)
		if got.Engine != row.engine || !strings.Contains(got.Why, row.why) {
			t.Errorf("%s: %+v, want %q because %q", row.name, got, row.engine, row.why)
		}
	}
}

func TestOverhead(t *testing.T) {
	res := func(elapsed, prepared time.Duration) workload.Result {
		return workload.Result{Elapsed: elapsed, Prepared: prepared}
	}
	for _, row := range []struct {
		name    string
		results []workload.Result
		ramp    time.Duration
		want    time.Duration
	}{
		{"no result", nil, 0, 100},
		{"one", []workload.Result{res(50, 20)}, 0, 30},
		{"ramp", []workload.Result{res(50, 20)}, 10, 20},
		{"clients run side by side", []workload.Result{res(50, 5), res(40, 20)}, 0, 30},
	} {
		tr := record.Trial{Wall: 100, Results: row.results, Spec: workload.Spec{Job: load.Job{RampTime: row.ramp}}}
		if got := overhead(&tr); got != row.want {
			t.Errorf("%s: overhead = %v, want %v", row.name, got, row.want)
		}
	}
}

func TestFirstError(t *testing.T) {
	real, other := errors.New("no space"), errors.New("other")
	echo := fmt.Errorf("stopped: %w", context.Canceled)
	for _, row := range []struct {
		name string
		errs []error
		want string
	}{
		{"none", []error{nil, nil}, ""},
		{"no clients", nil, ""},
		{"alone", []error{real}, "no space"},
		{"echo first", []error{echo, real, nil}, "client 2: no space"},
		{"two real", []error{nil, real, other}, "client 2: no space"},
		{"echoes only", []error{nil, echo, echo}, "client 2: stopped: context canceled"},
		{"timeout is no echo", []error{echo, timeoutError{after: time.Second}}, "client 2: the cell did not end within its timeout of 1s"},
	} {
		got := ""
		if err := firstError(row.errs); err != nil {
			got = err.Error()
		}
		if got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}

// TestEach: the first error ends the context of the others.
func TestEach(t *testing.T) {
	broken := errors.New("broken")
	err := each(t.Context(), make([]*agent.Agent, 3), func(ctx context.Context, i int, _ *agent.Agent) error {
		if i == 2 {
			return broken
		}
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if !errors.Is(err, broken) {
		t.Errorf("each() = %v, want %v", err, broken)
	}
}

func TestFail(t *testing.T) {
	for _, row := range []struct {
		err             error
		phase, progress string
	}{
		{errors.New("no daemon"), "open", ""},
		{&agent.TrialError{Phase: "run", Text: "full", Done: &load.Sample{Ops: 3, Bytes: 4096, At: time.Second}}, "run", "3 operations"},
		{fmt.Errorf("client 2: %w", &agent.TrialError{Phase: "prepare", Text: "full"}), "prepare", ""},
		{timeoutError{after: time.Second}, "timeout", ""},
	} {
		tr := record.Trial{Status: record.Done, Value: 7, Results: make([]workload.Result, 1)}
		fail(&tr, row.err)
		if tr.Status != record.Failed || tr.Error != row.err.Error() {
			t.Errorf("fail(%v): %s, %q", row.err, tr.Status, tr.Error)
		}
		if tr.Phase != row.phase || !strings.HasPrefix(tr.Progress, row.progress) {
			t.Errorf("fail(%v): phase %q with %q, want %q with %q", row.err, tr.Phase, tr.Progress, row.phase, row.progress)
		}
		if tr.Value != 0 || tr.Results != nil {
			t.Errorf("fail(%v): the record still has %v and %+v", row.err, tr.Value, tr.Results)
		}
	}
}
