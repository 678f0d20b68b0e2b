package workload

import (
	"testing"
	"time"

	"plimsoll/load"
)

func TestArrivals(t *testing.T) {
	at := time.Unix(1000, 0)
	client := func(after time.Duration, ops, late, missed int64, worst time.Duration) Result {
		return Result{Start: at.Add(after), Elapsed: 2 * time.Second, Classes: []load.Class{{Name: "read", Ops: ops}, {Name: "sync", Ops: 9}}, Late: late, Missed: missed, MaxLate: worst}
	}
	two := []Result{client(0, 900, 3, 100, time.Second), client(500*time.Millisecond, 1000, 4, 0, time.Millisecond)}
	for _, row := range []struct {
		job     load.Job
		offered float64
	}{
		{load.Job{RW: load.RandRead, RateIOPS: 250, NumJobs: 2}, 1000},
		{load.Job{RW: load.RandRead, Rate: 1 << 20}, 512},
		{load.Job{RW: load.RandRead, Rate: 1 << 20, ReadSplit: []load.SizeShare{{Size: 4096, Percent: 50}, {Size: 12288, Percent: 50}}}, 256},
	} {
		a, ok := ArrivalsOf(row.job, two)
		want := Arrivals{Offered: row.offered, Achieved: 1900 / 2.5, Due: 2000, Late: 7, MaxLate: time.Second, Missed: 100}
		if !ok || a != want {
			t.Errorf("%+v: ArrivalsOf = %+v, %v, want %+v", row.job, a, ok, want)
		}
	}
	if _, ok := ArrivalsOf(load.Job{RW: load.RandRead}, two); ok {
		t.Error("a closed loop has arrivals")
	}
}
