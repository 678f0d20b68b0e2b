package row

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/workload"
)

// TestJudgeMember: one of two devices is judged by what came to it.
func TestJudgeMember(t *testing.T) {
	const asked, d = 10 << 20, 5 * time.Second
	at := func(share float64) func(time.Duration) float64 { return steady(share * asked) }
	none := steady(0)
	for _, row := range []struct {
		name        string
		key         limit.Key
		mode        Mode
		app, device float64                     // shares of the limit
		group, root func(time.Duration) float64 // nil: not counted
		want        judge.Verdict
		words       string
	}{
		// It was said to be 2 times the limit.
		{"stripes", limit.WriteBPS, Direct, 2, 1, at(1), none, judge.Held, "held: asked 10 MiB/s, saw 10 MiB/s at this device (+0.0 %)"},
		{"stripes, and it is not counted", limit.WriteBPS, Direct, 2, 1, nil, nil, judge.Held, "at this device"},
		{"stripes that are synced", limit.WriteBPS, BufferedSync, 2, 1, at(1), none, judge.Held, "at this device"},
		{"stripes under no limit", limit.WriteBPS, Direct, 8, 4, at(4), none, judge.NotHeld, "saw 40 MiB/s at this device (4 times)"},
		{"stripes that threads of the kernel write", limit.WriteBPS, BufferedSync, 8, 4, none, at(4), judge.NotHeld, "saw 40 MiB/s"},
		{"one is over its limit", limit.WriteBPS, Direct, 1.5, 1.4, at(1.4), none, judge.NotHeld, "saw 14 MiB/s"},
		{"it is on the other one", limit.WriteBPS, Direct, 1, 0, none, none, judge.Unproved, "saw 0 B/s at this device (-100.0 %); the application saw 10 MiB/s: the file system sent the rest to its other devices"},
		{"a read that is on the other one", limit.ReadBPS, Direct, 1, 0, none, none, judge.Unproved, "its other devices"},
		{"slower than the limit", limit.WriteBPS, Direct, 0.8, 0.4, at(0.4), none, judge.Unproved, "something else was slower"},
		{"beside another group", limit.WriteBPS, Direct, 2, 100, at(1), none, judge.Held, "saw 10 MiB/s"},
		{"slower, beside another group", limit.WriteBPS, Direct, 0.8, 100, at(0.4), none, judge.Unproved, "something else was slower"},
		{"beside what others have written back", limit.WriteBPS, Direct, 2, 100, at(1), at(99), judge.Unproved, "others used the device too"},
		{"beside another, and it is not counted", limit.WriteBPS, Direct, 2, 100, nil, nil, judge.Unproved, "others used the device too"},
		{"written back beside another", limit.WriteBPS, Buffered, 2, 100, none, at(100), judge.Unproved, "others used the device too"},
		{"written back", limit.WriteBPS, Buffered, 2, 1, none, at(1), judge.Held, "saw 10 MiB/s"},
	} {
		r := Row{Finding: judge.Finding{Key: row.key, Asked: asked}, Mode: row.mode, Members: 2}
		p := points(d, at(row.device))
		last := p[len(p)-1]
		if row.group != nil {
			p = charged(p, row.group, row.root)
		}
		r.judge(&measured{
			result: &workload.Result{Elapsed: d, Samples: samples(d, at(row.app))}, samples: p, flushed: d,
			device: &workload.DiskDelta{Writes: last.writes, WrittenBytes: last.writtenBytes},
		})
		if r.Verdict != row.want || !strings.Contains(r.Words(), row.words) {
			t.Errorf("%s: %s: %s; want %s with %q", row.name, r.Verdict, r.Words(), row.want, row.words)
		}
	}
}
