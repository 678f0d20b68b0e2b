package runs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/trial"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/golden"
)

// A played cell has a true ratio to the baseline and a noise.
type played struct {
	place        string
	ratio, noise float64
}

// progress plays the first blocks of a run of two workloads; a trial takes 2 s.
func progress(done, blocks int, cells []played) trial.Progress {
	rng := rand.New(rand.NewPCG(5, 6))
	run := &record.Run{ID: "20261121-153000-3f9a", Blocks: blocks, Margin: 0.05, Baseline: map[string]string{}, Status: record.Running}
	p := trial.Progress{Run: run, Done: done}
	for b := range done {
		for _, w := range []string{"wal", "tree"} {
			for _, c := range append([]played{{"dir", 1, 0.01}, {"#", 1, 0.01}}, cells...) {
				cell := record.Cell{Workload: w, Engine: "host", Place: strings.Replace(c.place, "#", "dir", 1), Limits: "none", Clients: 1, Control: c.place == "#"}
				key := w + "/host/" + c.place
				if c.place == "dir" {
					run.Baseline[w] = key
				}
				t := record.Trial{
					Run: run.ID, Cell: cell, Key: key, Block: b, Order: len(p.Trials), Status: record.Done, Wall: 2 * time.Second,
					Spec: workload.Spec{Name: w, Kind: workload.Append}, Metric: workload.Metric{Name: "rate", Unit: "1/s"},
					Value: 1000 * c.ratio * math.Exp(c.noise*rng.NormFloat64()),
				}
				p.Trials = append(p.Trials, t)
			}
		}
	}
	for i := range p.Trials {
		p.Took += p.Trials[i].Wall
	}
	return p
}

// TestReview: what is said at half-time and decided at the end.
func TestReview(t *testing.T) {
	plain := []played{{"slow", 0.5, 0.01}, {"same", 1, 0.01}}
	open := append(slices.Clone(plain), played{"noisy", 1.02, 0.08})
	lost := append(slices.Clone(open), played{"lost", 1.04, 0.5})
	var said strings.Builder
	for _, row := range []struct {
		name         string
		done, blocks int
		cells        []played
		most         time.Duration
		// more is whether blocks are added, leftOut how many cells are left out.
		more    bool
		leftOut int
	}{
		{"half-time, all settled", 10, 20, plain, 0, false, 0},
		{"half-time, one open", 10, 20, open, 0, false, 0},
		{"half-time, one open, goes on", 10, 20, open, time.Hour, false, 0},
		{"half-time, one lost", 10, 20, lost, 0, false, 0},
		{"end", 20, 20, open, 0, false, 0},
		{"end, all settled", 20, 20, plain, time.Hour, false, 0},
		{"end, one open", 20, 20, open, time.Hour, true, 4},
		{"end, one lost", 20, 20, lost, 20 * time.Minute, true, 5},
		{"end, nothing to compare", 20, 20, nil, time.Hour, false, 0},
		{"end, no time left", 20, 20, open, 3 * time.Minute, false, 0},
	} {
		v := settler{row.most}.review(progress(row.done, row.blocks, row.cells))
		fmt.Fprintf(&said, "%s:\n  %s\n  blocks %d, without %s\n", row.name, v.Say, v.Blocks, strings.Join(v.LeftOut, " "))
		if more := v.Blocks > row.done; more != row.more {
			t.Errorf("%s: %d blocks in all, want more: %t", row.name, v.Blocks, row.more)
		}
		if v.Blocks > 2*row.done {
			t.Errorf("%s: %d blocks in all, want another look after %d", row.name, v.Blocks, 2*row.done)
		}
		if len(v.LeftOut) != row.leftOut {
			t.Errorf("%s: left out %v, want %d", row.name, v.LeftOut, row.leftOut)
		}
		for _, key := range v.LeftOut {
			if strings.HasSuffix(key, "/dir") || strings.HasSuffix(key, "/#") {
				t.Errorf("%s: %s is left out, which others are compared with", row.name, key)
			}
		}
	}
	// A cell that was left out as too far keeps nothing going, however much time there is.
	p := progress(20, 20, append(slices.Clone(plain), played{"lost", 1.04, 0.5}))
	p.Run.Looks = []record.Look{{Blocks: 10, LeftOut: []string{"wal/host/lost", "tree/host/lost"}}}
	p.Trials = slices.DeleteFunc(p.Trials, func(t record.Trial) bool { return !p.Run.MeasuredIn(t.Key, t.Block) })
	v := settler{100 * time.Hour}.review(p)
	fmt.Fprintf(&said, "only cells that were left out are open:\n  %s\n", v.Say)
	if v.Blocks != 0 {
		t.Errorf("it goes on to %d blocks for cells that are not measured", v.Blocks)
	}
	golden.Check(t, "review.txt", said.String())
}
