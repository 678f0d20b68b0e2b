package trial

import (
	"testing"
	"time"

	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// TestSteadyJudge: it judges when all clients have ended a round, once, and hears no more rounds than there can be.
func TestSteadyJudge(t *testing.T) {
	spec := workload.Spec{Kind: workload.Block, Job: load.Job{RW: load.RandRead, Runtime: 9 * time.Second}, Steady: workload.SteadyState{Round: time.Second}}
	round := func(n int, ops int64) load.Sample {
		return load.Sample{At: time.Duration(n) * time.Second, Ops: ops, Lat: time.Duration(ops) * time.Millisecond}
	}
	j := newSteadyJudge(nil, "1", spec)
	j.each = make([][]load.Sample, 2)
	for n := range 5 {
		j.round(0, round(n+1, 100))
	}
	for n := range 5 {
		if j.done || j.judged != n {
			t.Errorf("one client is in round 5, the other in %d: done %v, %d judged", n, j.done, j.judged)
		}
		j.round(1, round(n+1, 50))
	}
	if !j.done {
		t.Error("both are steady, and it goes on")
	}
	j = newSteadyJudge(nil, "1", spec)
	j.each = make([][]load.Sample, 1)
	for n := range 100 {
		j.round(0, round(n+1, int64(1+n*n)))
	}
	if len(j.each[0]) != 10 || j.done {
		t.Errorf("%d rounds of a job that has 9, done %v", len(j.each[0]), j.done)
	}
}
