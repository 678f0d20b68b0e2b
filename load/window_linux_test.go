package load

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"testing"
	"time"
)

// readByUs returns how many bytes read calls have returned to this process (rchar of /proc/self/io), without the read of that file.
func readByUs(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skipf("needs /proc/self/io: %v", err)
	}
	_, rest, _ := bytes.Cut(b, []byte("rchar: "))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, err := strconv.ParseInt(string(line), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestWindowHoldsWhatWasCountedOutside: all I/O of the result is between the two readings of the counters, even if the first comes
// late, as on a busy machine.
func TestWindowHoldsWhatWasCountedOutside(t *testing.T) {
	for _, ramp := range []time.Duration{0, 20 * time.Millisecond} {
		const bs, depth = 4096, 2
		r := prepare(t, Job{RW: RandRead, BS: bs, IODepth: depth, Filename: written(t, 1<<20), RampTime: ramp, Runtime: 200 * time.Millisecond, IOEngine: PSync})
		var first, last int64
		calls := 0
		r.OnWindow = func(begin bool) {
			if begin {
				calls++
				time.Sleep(60 * time.Millisecond) // The goroutine gets no CPU,
				first = readByUs(t)
				time.Sleep(10 * time.Millisecond) // and again.
				return
			}
			last = readByUs(t)
		}
		res, err := r.Start(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		app, outside := res.Class("read").Bytes, last-first
		if app == 0 || app > outside {
			t.Errorf("ramp %v: the result has %d bytes, but the process read %d between the readings", ramp, app, outside)
		}
		// A reading that took long is repeated, as long as the threads still run.
		if want := map[bool]int{true: 3, false: 1}[ramp > 0]; calls != want {
			t.Errorf("ramp %v: the beginning was announced %d times, want %d", ramp, calls, want)
		}
		if res.Elapsed != 200*time.Millisecond {
			t.Errorf("ramp %v: the window has %v", ramp, res.Elapsed)
		}
	}
}

// TestBudgetAfterARamp: a job that ends by a count does that many I/Os, although the beginning of the window isn't known when the
// ramp starts.
func TestBudgetAfterARamp(t *testing.T) {
	path := written(t, 1<<20)
	for _, engine := range realEngines() {
		needEngine(t, engine)
		r := prepare(t, Job{RW: RandRead, IODepth: 8, Filename: path, RampTime: 5 * time.Millisecond, Runtime: time.Hour, NumberIOs: 1000, IOEngine: engine})
		r.OnWindow = func(bool) { time.Sleep(2 * time.Millisecond) }
		res, err := r.Start(context.Background(), nil)
		if err != nil || res.Ops() != 1000 {
			t.Errorf("%s: %d I/Os, %v; want 1000", engine, res.Ops(), err)
		}
	}
}

// TestCountersAreReadAfterStartDelay: and the delay can be cancelled.
func TestCountersAreReadAfterStartDelay(t *testing.T) {
	r := prepare(t, Job{RW: RandRead, Filename: written(t, 1<<20), StartDelay: 50 * time.Millisecond, IOEngine: PSync})
	begin := time.Now()
	var opened time.Duration
	r.OnWindow = func(begins bool) {
		if begins {
			opened = time.Since(begin)
		}
	}
	res, err := r.Start(context.Background(), nil)
	if err != nil || res.Ops() != 256 || opened < 50*time.Millisecond {
		t.Errorf("%d I/Os, window opened after %v, %v", res.Ops(), opened, err)
	}
	r = prepare(t, Job{RW: RandRead, Filename: written(t, 1<<20), StartDelay: time.Hour, IOEngine: PSync})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if res, err = r.Start(ctx, nil); err == nil || res.Ops() != 0 || res.Elapsed > time.Minute {
		t.Errorf("broken off: %+v, %v", res, err)
	}
}
