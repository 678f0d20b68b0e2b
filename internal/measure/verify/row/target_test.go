package row

import (
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/workload"
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
		{"a neighbour's I/O that was charged before", Direct, false, asked / 2, asked, asked / 2, 0, judge.Unproved, "saw 5 MiB/s (-50.0 %); something else was slower than the limit"},
		{"together they are below", Direct, true, asked / 4, asked / 2, asked / 2, 0, judge.Unproved, "saw 5 MiB/s (-50.0 %), with the 2.5 MiB/s that the target itself used; something else was slower than the limit"},
		{"synced, and a target that was quiet", DSync, false, 0.7 * asked, asked, asked, 0, judge.Held, "with the file system's own writes"},
		{"synced, beside a busy one", DSync, true, 0.7 * asked, asked, asked, 0, judge.Held, "with the 3 MiB/s that the target itself used"},
	} {
		r := Row{Finding: judge.Finding{Key: limit.WriteBPS, Asked: asked}, Mode: row.mode}
		p := charged(points(d, steady(row.device)), steady(row.own), steady(0))
		for i := range p {
			o := written(row.others * p[i].at.Seconds())
			p[i].charged.others = &o
		}
		r.judge(&measured{result: &workload.Result{Elapsed: d, Samples: samples(d, steady(row.app))}, samples: p, busy: row.busy, before: &count{}})
		if r.Verdict != row.want || !strings.Contains(r.Words(), row.words) {
			t.Errorf("%s: %s; want %s with %q", row.name, r.Words(), row.want, row.words)
		}
	}
}

// TestSumInPieces: the kernel hands on what a target syncs in I/Os of 8 MiB, and the limit lets one through each 0.8 s. How many of them a row holds is
// chance: by that, some rows were 13 % below the limit and "something else was slower".
func TestSumInPieces(t *testing.T) {
	const asked, d = 10 << 20, 5 * time.Second
	for _, row := range []struct {
		name string
		// piece is how large each of the target's I/Os is, and speed how many times the limit they and the worker's come at.
		piece, speed float64
		want         judge.Verdict
		words        string
	}{
		{"one each 0.8 s", 8 << 20, 1, judge.Held, " that the target itself used"},
		{"twice the limit", 8 << 20, 2, judge.NotHeld, " that the target itself used"},
		{"below the limit", 8 << 20, 0.8, judge.Unproved, "something else was slower"},
		{"one each 3 s", 30 << 20, 1, judge.Unproved, "too short: the target's own I/Os are so large that the limit lets one of them through in 3.02 s: verify with --time 11s"},
	} {
		for phase := time.Duration(0); phase < 3200*time.Millisecond; phase += followEvery {
			var p []sample
			for at := time.Duration(0); at <= d; at += followEvery {
				// After each piece a tenth as much of the worker's comes through.
				waited := (at + phase).Seconds() * asked * row.speed
				n := math.Floor(waited/(1.1*row.piece)) * 1.1 * row.piece
				if waited-n >= row.piece {
					n += row.piece
				}
				none := count{}
				p = append(p, sample{at: at, count: written(n), charged: &charges{group: written(n + row.piece), root: &none, others: &none}})
			}
			r := Row{Finding: judge.Finding{Key: limit.WriteBPS, Asked: asked}, Mode: Direct}
			r.judge(&measured{result: &workload.Result{Elapsed: d, Samples: samples(d, steady(row.speed*asked/11))}, samples: p, busy: true})
			if r.Verdict != row.want || !strings.Contains(r.Words(), row.words) {
				t.Errorf("%s, %v later: %s; want %s with %q", row.name, phase, r.Words(), row.want, row.words)
			}
		}
	}
}
