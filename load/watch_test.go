package load

import (
	"context"
	"testing"
	"time"
)

func TestSampleEvery(t *testing.T) {
	for _, row := range []struct{ runtime, want time.Duration }{
		{0, time.Second},
		{time.Millisecond, 10 * time.Millisecond},
		{400 * time.Millisecond, 20 * time.Millisecond},
		{10 * time.Second, 500 * time.Millisecond},
		{20 * time.Second, time.Second},
		{time.Hour, time.Second},
	} {
		if got := SampleEvery(row.runtime); got != row.want {
			t.Errorf("SampleEvery(%v) = %v, want %v", row.runtime, got, row.want)
		}
	}
}

// TestEarlyEndOnBothClocks: a job that is done before its runtime has a window that ends there
// by both clocks, however long it takes to read the counters at its end.
func TestEarlyEndOnBothClocks(t *testing.T) {
	const slow = 300 * time.Millisecond
	r := prepare(t, Job{RW: RandRead, Size: 1 << 20, NumberIOs: 1000, Runtime: time.Hour, IOEngine: Null})
	r.OnWindow = func(begin bool) {
		if !begin {
			time.Sleep(slow)
		}
	}
	res, err := r.Start(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.Ops() != 1000 || res.Elapsed != res.LastDone {
		t.Errorf("%d I/Os in %v, done after %v", res.Ops(), res.Elapsed, res.LastDone)
	}
	if d := res.WallElapsed - res.Elapsed; d > slow/2 || d < -slow/2 {
		t.Errorf("the window took %v by the monotonic clock and %v by the wall clock", res.Elapsed, res.WallElapsed)
	}
}

// TestClockJump: the wall clock is set in the middle. The window, its samples and its
// latencies are those of the monotonic clock, and the jump is in the result for the check.
func TestClockJump(t *testing.T) {
	for _, jump := range []time.Duration{time.Hour, -time.Hour} {
		r := prepare(t, Job{RW: RandRead, Size: 1 << 20, Runtime: 100 * time.Millisecond, RateIOPS: 1000, IOEngine: Null})
		begin, set := time.Now(), time.Duration(0)
		r.wall = func() time.Time { return time.Now().Add(set) }
		r.OnWindow = func(begin bool) {
			if !begin {
				set = jump
			}
		}
		res, err := r.Start(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := (res.WallElapsed - res.Elapsed - jump).Abs(); d > time.Minute || res.Elapsed != 100*time.Millisecond {
			t.Errorf("the window took %v and by the wall clock %v, which jumped by %v", res.Elapsed, res.WallElapsed, jump)
		}
		if d := res.Start.Sub(begin).Abs(); d > time.Minute {
			t.Errorf("the window began %v after the test", d)
		}
		c := res.Class("read")
		if c.Ops == 0 {
			t.Error("no I/Os")
		}
		for what, d := range map[string]time.Duration{"latency": time.Duration(c.Lat.Max()), "response time": time.Duration(c.Response.Max()), "lateness": res.MaxLate} {
			if d > time.Minute {
				t.Errorf("the longest %s is %v", what, d)
			}
		}
	}
}

func TestSampleEveryOfAJob(t *testing.T) {
	j := Job{RW: Read, IOEngine: Null, Size: 1 << 30, Runtime: 300 * time.Millisecond, RateIOPS: 1000, SampleEvery: 100 * time.Millisecond}
	r, err := Prepare(j)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	res, err := r.Start(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	// SampleEvery(300ms) would be 15 ms: 20 samples.
	if n := len(res.Samples); n < 1 || n > 4 {
		t.Errorf("%d samples of 100 ms in 300 ms", n)
	}
	if s := res.Samples[0]; s.At < 100*time.Millisecond {
		t.Errorf("the first sample ended after %v", s.At)
	}
	for _, bad := range []time.Duration{-1, 1, 9 * time.Millisecond} {
		j.SampleEvery = bad
		if err := j.Validate(); err == nil {
			t.Errorf("SampleEvery = %v is accepted", bad)
		}
	}
}
