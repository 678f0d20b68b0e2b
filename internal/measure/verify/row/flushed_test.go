package row

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/workload"
)

// TestFlushed: the time before the flusher begins is not the limit's. 15 MiB at 3 MiB/s that came from 2 s on were "no more than
// 2.1 MiB/s", and so unproved.
func TestFlushed(t *testing.T) {
	const mib, asked = 1 << 20, 3 << 20
	// A rate from a time on, until so much was done.
	from := func(start time.Duration, rate float64) func(time.Duration) float64 {
		return func(at time.Duration) float64 {
			if at < start || (at-start).Seconds()*rate >= 15*mib {
				return 0
			}
			return rate
		}
	}
	// The first piece comes after it has waited; the rest at the limit.
	waited := func(start, wait time.Duration) func(time.Duration) float64 {
		return func(at time.Duration) float64 {
			switch {
			case at < start+wait:
				return 0
			case at < start+wait+sampleEvery:
				return asked * float64(wait+sampleEvery) / float64(sampleEvery)
			case at >= start+5*time.Second:
				return 0
			}
			return asked
		}
	}
	second := float64(time.Second)
	for _, row := range []struct {
		name     string
		device   func(time.Duration) float64
		charge   func(time.Duration) float64 // nil: not counted
		flushing float64                     // seconds
		want     judge.Verdict
		words    string
		elapsed  float64
	}{
		{"it begins at once", from(0, asked), nil, 0.1, judge.Held, "saw 3 MiB/s (+0.0 %)", 5},
		{"it begins after two seconds", from(2*time.Second, asked), nil, 2, judge.Held, "saw 3 MiB/s (+0.0 %)", 5},
		{"it is told late, and has begun before", from(time.Second, asked), nil, 4, judge.Held, "saw 3 MiB/s (+0.0 %)", 5},
		{"it is told in time, and waits", waited(500*time.Millisecond, time.Second), nil, 0.5, judge.Held, "saw 3 MiB/s (+0.0 %)", 5},
		{"it waits, and is told later", waited(500*time.Millisecond, 2*time.Second), nil, 3, judge.Held, "saw 3 MiB/s", 3.1},
		{"it begins late, and is slower than the limit", from(2*time.Second, 2*mib), nil, 2, judge.Unproved, "saw 2 MiB/s (-33.3 %); something else was slower", 7.5},
		{"it begins late, at twice the limit", from(4*time.Second, 2*asked), nil, 4, judge.Unproved, "began late, at an unknown time, so it wrote between 2.31 MiB/s and 6 MiB/s", 2.5},
		{"it begins late, and nothing holds it", from(2*time.Second, 50*asked), nil, 2, judge.NotHeld, "saw 150 MiB/s (50 times)", 0.1},
		// In version 1 it is charged when the flusher hands it over, before it waits.
		{"charged when it begins", waited(time.Second, 2*time.Second), burstAt(time.Second, 15*mib), 3, judge.Held, "saw 3 MiB/s (+0.0 %)", 5},
	} {
		r := Row{Finding: judge.Finding{Key: limit.WriteBPS, Asked: asked}, Mode: Buffered}
		p := points(10*time.Second, row.device)
		if row.charge != nil {
			p = charged(p, steady(0), row.charge)
		}
		r.judge(&measured{
			result: &workload.Result{Elapsed: time.Second / 10, Samples: samples(time.Second/10, steady(150*mib))}, samples: p,
			flushing: time.Duration(row.flushing * second), flushed: 10 * time.Second,
		})
		if r.Verdict != row.want || !strings.Contains(r.Words(), row.words) {
			t.Errorf("%s: %s; want %s with %q", row.name, r.Words(), row.want, row.words)
		}
		if d := r.Elapsed - time.Duration(row.elapsed*second); d < -2*sampleEvery || d > 2*sampleEvery {
			t.Errorf("%s: elapsed %v, want %v s", row.name, r.Elapsed, row.elapsed)
		}
	}
}

// burstAt is so many bytes in the tenth of a second from a time on.
func burstAt(start time.Duration, bytes float64) func(time.Duration) float64 {
	return func(at time.Duration) float64 {
		if at == start {
			return bytes / sampleEvery.Seconds()
		}
		return 0
	}
}
