package workload

import (
	"errors"
	"testing"
	"time"

	"plimsoll/load"
)

// TestLeastRate: cycles are judged after a time to settle, each for itself, and each direction.
func TestLeastRate(t *testing.T) {
	const half = 500 * time.Millisecond
	sample := func(i int, reads, writes int64) load.Sample {
		return load.Sample{At: time.Duration(i) * half, Ops: reads + writes, WriteOps: writes, Bytes: 4096 * (reads + writes), WriteBytes: 4096 * writes}
	}
	for _, c := range []struct {
		least  LeastRate
		writes []int64 // of each half second; there are 100 reads
		at     int     // the sample that ends it; -1: none
		want   string
	}{
		{LeastRate{Read: 200, Write: 100, Cycle: time.Second}, []int64{0, 0, 0, 0, 50, 50, 100, 0}, -1, ""},
		{LeastRate{Write: 100, Cycle: time.Second}, []int64{0, 0, 0, 0, 50, 50, 98, 0}, 7, "writes of 98 a second in 1s are less than the least rate, 100"},
		{LeastRate{Read: 202, Cycle: time.Second}, []int64{0, 0, 0, 0, 50, 50}, 5, "reads of 200 a second in 1s are less than the least rate, 202"},
		{LeastRate{Write: 4096 * 100, Bytes: true, Cycle: 2 * time.Second}, []int64{0, 0, 0, 0, 200, 0, 0, 0, 0, 0, 0, 198}, 11, "writes of 405504 bytes a second in 2s are less than the least rate, 409600"},
		// An I/O every two seconds is half a one a second, whichever cycle sees it; one every three is not.
		{LeastRate{Write: 2048, Bytes: true, Cycle: time.Second}, []int64{0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, -1, ""},
		{LeastRate{Write: 2048, Bytes: true, Cycle: time.Second}, []int64{0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0}, 10, "writes of 0 bytes a second in 2.5s are less than the least rate, 2048"},
		// A little too slow shows after some cycles: 28 in three seconds are 9.3.
		{LeastRate{Write: 10, Cycle: time.Second}, []int64{0, 0, 0, 0, 5, 4, 5, 5, 5, 4, 5, 5, 5, 4, 5}, 9, "writes of 9 a second in 3s are less than the least rate, 10"},
	} {
		w := newLeastWatch(c.least, load.Job{RW: load.RandRW, BS: 4096})
		at, text := -1, ""
		for i, n := range c.writes {
			if err := w.add(sample(i+1, 100, n)); err != nil {
				at, text = i, err.Error()
				break
			}
		}
		if at != c.at || text != c.want {
			t.Errorf("%+v: ended at %d with %q, want %d and %q", c.least, at, text, c.at, c.want)
		}
	}
}

// TestSlowJobEndsItsStage: a job whose schedule is slower than its least rate is ended, with an error that says so.
func TestSlowJobEndsItsStage(t *testing.T) {
	job := func(least int64) StageJob {
		return StageJob{
			Name: "a", Job: load.Job{RW: load.RandRead, IOEngine: load.Null, Size: 1 << 20, RateIOPS: 100, Runtime: 2600 * time.Millisecond, SampleEvery: 100 * time.Millisecond},
			Least: &LeastRate{Read: least, Cycle: 200 * time.Millisecond},
		}
	}
	run := func(j StageJob) error {
		r, err := Prepare(t.Context(), Spec{Name: "s", Kind: Stage, Jobs: []StageJob{j}}, Folders{Work: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		_, err = r.Run(t.Context(), nil)
		return err
	}
	var slow *RateError
	begin := time.Now()
	if err := run(job(1000)); !errors.As(err, &slow) || slow.Least != 1000 || slow.Got > 900 {
		t.Errorf("100 I/Os a second where 1000 are the least: %v", err)
	}
	if d := time.Since(begin); d < settling {
		t.Errorf("it was judged after %v already", d)
	}
	if err := run(job(1)); err != nil {
		t.Errorf("100 I/Os a second where 1 is the least: %v", err)
	}
}
