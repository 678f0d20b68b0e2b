package verify

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/workload"
)

// TestSum: what the target itself did counts with the worker's, and what others did does not. In version 1 the charge of the target's comes
// long before.
func TestSum(t *testing.T) {
	const asked, d = 10 << 20, 8 * time.Second
	for _, row := range []struct {
		name                     string
		mode                     Mode
		busy                     bool
		app, device, own, others float64
		want                     judge.Verdict
		words                    string
	}{
		{"nothing of the worker's comes through", Direct, true, 0, asked, 0, 0, judge.Held, "saw 10 MiB/s (+0.0 %), with the 10 MiB/s that the target itself used"},
		{"a half", Direct, false, asked / 2, asked, asked, 0, judge.Held, "with the 5 MiB/s that the target itself used"},
		{"others write too", Direct, true, asked / 2, 3 * asked, asked, 2 * asked, judge.Held, "with the 5 MiB/s that the target itself used"},
		{"together they pass it", Direct, true, asked, 3 * asked, 3 * asked, 0, judge.NotHeld, "saw 30 MiB/s (3 times), with the 20 MiB/s that the target itself used"},
		{"together they are below", Direct, true, asked / 4, asked / 2, asked / 2, 0, judge.Unproved, "at most 5 MiB/s came through in this mode, with the 2.5 MiB/s that the target itself used"},
		{"synced, and a target that was quiet", DSync, false, 0.7 * asked, asked, asked, 0, judge.Held, "with what the file system adds"},
		{"synced, beside a busy one", DSync, true, 0.7 * asked, asked, asked, 0, judge.Held, "with the 3 MiB/s that the target itself used"},
	} {
		r := Row{Key: limit.WriteBPS, Mode: row.mode, Asked: asked}
		p := charged(points(d, steady(row.device)), steady(row.own), steady(0))
		for i := range p {
			o := written(row.others * p[i].at.Seconds())
			p[i].charge.others = &o
		}
		r.judge(&measured{result: &workload.Result{Elapsed: d, Samples: samples(d, steady(row.app))}, course: p, busy: row.busy}, DefaultTolerance)
		if r.Verdict != row.want || !strings.Contains(r.Words(), row.words) {
			t.Errorf("%s: %s; want %s with %q", row.name, r.Words(), row.want, row.words)
		}
	}
}
