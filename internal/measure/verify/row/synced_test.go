package row

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/workload"
)

// TestSynced: of a row with a sync at its end the time in which the application fills the page cache is not the limit's, and what is charged
// at its end counts, though the device is followed from a moment before the application begins. In an emulated machine with
// version 2, 5 MiB at 1 MiB/s were "no more than 864 KiB/s", and all of it others'.
func TestSynced(t *testing.T) {
	const mib, asked, all = 1 << 20, 1 << 20, 5 * 1 << 20
	// All that is done at a rate, from a time on.
	from := func(start time.Duration, rate float64) func(time.Duration) float64 {
		return func(at time.Duration) float64 {
			if at < start {
				return 0
			}
			return min(rate, max(0, all-(at-start).Seconds()*rate)/sampleEvery.Seconds())
		}
	}
	const lag = time.Second // Until the application begins.
	for _, row := range []struct {
		name        string
		app, device func(time.Duration) float64
		charge      func(time.Duration) float64 // nil: not counted
		elapsed     time.Duration
		want        judge.Verdict
		words       string
	}{
		{"it fills the cache for a second", from(0, 5*mib), from(lag+time.Second, asked), from(lag+time.Second, asked), 6 * time.Second, judge.Held, "0.0 %)"},
		{"charged at the end", from(0, 5*mib), from(lag+time.Second, asked), from(lag+5900*time.Millisecond, 10*all), 6 * time.Second, judge.Held, "0.0 %)"},
		{"it is not counted", from(0, 5*mib), from(lag+time.Second, asked), nil, 6 * time.Second, judge.Held, "0.0 %)"},
		{"it is written back meanwhile", from(0, 5*mib), from(lag, asked), from(lag, asked), 5 * time.Second, judge.Held, "saw 1 MiB/s"},
		{"the device is slower than the limit", from(0, 5*mib), from(lag+time.Second, asked/2), from(lag+time.Second, asked/2), 11 * time.Second, judge.Unproved, "something else was slower"},
		{"a little above it, or begun before", from(0, 5*mib), from(lag+time.Second, 1.2*asked), from(lag+time.Second, 1.2*asked), 5200 * time.Millisecond, judge.Held, "saw 985 KiB/s"},
		{"nothing holds it", from(0, 5*mib), from(lag+time.Second, 50*mib), from(lag+time.Second, 50*mib), 1200 * time.Millisecond, judge.NotHeld, "saw 4.17 MiB/s"},
	} {
		for _, members := range []int{0, 2} {
			r := Row{Finding: judge.Finding{Key: limit.WriteBPS, Asked: asked}, Mode: BufferedSync, Members: members}
			p := points(row.elapsed+lag, row.device)
			if row.charge != nil {
				p = charged(p, row.charge, steady(0))
			}
			r.judge(&measured{
				result: &workload.Result{Elapsed: row.elapsed, Samples: samples(row.elapsed, row.app)}, samples: p,
				device: &workload.DiskDelta{Writes: all / 4096, WrittenBytes: all},
			})
			if r.Verdict != row.want || !strings.Contains(r.Words(), row.words) {
				t.Errorf("%s, %d members: %s; want %s with %q", row.name, members, r.Words(), row.want, row.words)
			}
			if row.charge != nil && r.Others > 0.02*asked {
				t.Errorf("%s, %d members: others %s, want none", row.name, members, r.Rate(r.Others))
			}
		}
	}
}
