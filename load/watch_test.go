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
