package row

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/workload"
)

// TestChanged: a limit that was changed while the row was measured proves nothing, unless more than was asked for came through. No other reason is
// given instead.
func TestChanged(t *testing.T) {
	const asked, d = 10 << 20, 5 * time.Second
	for _, x := range []struct {
		name    string
		mode    Mode
		rate    float64 // a share of the limit
		changed []int64
		want    judge.Verdict
		words   string
	}{
		{"at the limit", Direct, 1, []int64{80 << 20}, judge.Unproved, "saw 10 MiB/s (+0.0 %); another program changed the limit while it was measured, to 80 MiB/s"},
		{"below it", Direct, 0.5, []int64{80 << 20, 0}, judge.Unproved, "saw 5 MiB/s (-50.0 %); another program changed the limit while it was measured, to 80 MiB/s, then none"},
		{"above it", Direct, 1.5, []int64{80 << 20}, judge.NotHeld, "saw 15 MiB/s (+50.0 %)"},
		{"a sync with too short a row", BufferedSync, 1.08, []int64{0}, judge.Unproved, "to none"},
		{"a read from the device", Buffered, 1, []int64{0}, judge.Unproved, "to none"},
		{"nothing was changed", Direct, 1, nil, judge.Held, "saw 10 MiB/s (+0.0 %)"},
	} {
		r := Row{Finding: judge.Finding{Key: limit.WriteBPS, Asked: asked}, Mode: x.mode, Changed: x.changed}
		if x.mode == Buffered {
			r.Key = limit.ReadBPS
		}
		r.judge(&measured{result: &workload.Result{Elapsed: d, Samples: samples(d, steady(x.rate*asked))}, samples: points(d, steady(x.rate*asked))})
		if r.Verdict != x.want || !strings.HasSuffix(r.Words(), x.words) {
			t.Errorf("%s: %s; want %s with %q", x.name, r.Words(), x.want, x.words)
		}
	}
	small := Row{Finding: judge.Finding{Key: limit.WriteIOPS, Asked: 200}, Mode: BufferedSync, BS: 4096, Changed: []int64{0}}
	small.judge(&measured{
		result:  &workload.Result{Elapsed: time.Second, Samples: samples(time.Second, steady(4096*1000))},
		samples: points(time.Second, steady(4096*30)), device: &workload.DiskDelta{Writes: 30},
	})
	if small.Verdict != judge.Unproved || !strings.HasSuffix(small.Words(), "to none") {
		t.Errorf("merged writes under a limit that was changed: %s", small.Words())
	}
}

// TestWatch: a limit that is changed for a moment while a row is measured is seen, also at the row's end, and each value once.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, looks := time.Now(), 0
		r := Request{Look: func() { looks++ }, Changed: func(k limit.Key, m Mode) (int64, bool) {
			if k != limit.WriteBPS || m != Direct {
				t.Errorf("asked for %s, %s", k, m)
			}
			switch d := time.Since(began); {
			case d > time.Second && d < 1300*time.Millisecond:
				return 80 << 20, true
			case d >= 2990*time.Millisecond:
				return 0, true
			}
			return 8 << 20, false
		}}
		end := r.watch(limit.WriteBPS, Direct)
		time.Sleep(2990 * time.Millisecond)
		if got := end(); !slices.Equal(got, []int64{80 << 20, 0}) {
			t.Errorf("changed to %v, want 80 MiB/s, then none", got)
		}
		if looks < 58 {
			t.Errorf("it looked %d times in 3 s", looks)
		}
	})
	if got := (Request{}).watch(limit.WriteBPS, Direct)(); got != nil {
		t.Errorf("without Changed: %v", got)
	}
}
