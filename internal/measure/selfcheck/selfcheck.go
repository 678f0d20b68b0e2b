// Package selfcheck compares package load with fio: the same jobs, interleaved in a random order, with the ratio of
// each figure and its interval.
//
// On a limited device both must measure the same, so a difference beyond the noise is a fault of one of them. Elsewhere
// a difference in IOPS or latency is a difference between the generators, and CPU per I/O is their cost.
package selfcheck

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"plimsoll/internal/measure/stats"
	"plimsoll/load"
)

// A Reading is the measurement of one job by one program.
type Reading struct {
	// IOPS is I/Os per second. Mean and P99 are latencies from submission to completion, in nanoseconds. CPU is CPU
	// time per I/O in nanoseconds.
	IOPS float64 `json:"iops"`
	Mean float64 `json:"mean_ns"`
	P99  float64 `json:"p99_ns"`
	CPU  float64 `json:"cpu_ns"`
}

// A Case is a job that both programs do.
type Case struct {
	Name string   `json:"name"`
	Job  load.Job `json:"job"`
	// Limited says that the rate of its device is limited, so both programs must measure that rate.
	Limited bool `json:"limited,omitempty"`
}

// A Program does a job and measures it.
type Program func(ctx context.Context, c Case) (Reading, error)

// A Figure is one figure of a case by both programs.
type Figure struct {
	Case string `json:"case"`
	// Name is IOPS, mean, p99 or CPU.
	Name string `json:"name"`
	// Ours and Fio are the medians. Ratio is ours to fio's within the rounds; Low and High bound it at 95 %, for all
	// figures together. Low and High are 0 with a single round.
	Ours  float64 `json:"ours"`
	Fio   float64 `json:"fio"`
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// Fault says that the programs differ by more than Tolerance beyond the noise on a limited device.
	Fault bool `json:"fault,omitempty"`
}

// Tolerance is how far the results of two correct programs may differ on a limited device, because of its limit and
// their windows.
const Tolerance = 0.05

// figures are the compared figures.
var figures = []struct {
	name string
	get  func(Reading) float64
	// must says that the programs must agree on a limited device. CPU need not.
	must bool
}{
	{"IOPS", func(r Reading) float64 { return r.IOPS }, true},
	{"mean", func(r Reading) float64 { return r.Mean }, true},
	{"p99", func(r Reading) float64 { return r.P99 }, true},
	{"CPU", func(r Reading) float64 { return r.CPU }, false},
}

// Faults counts the figures in which the two programs must agree and don't.
func Faults(figures []Figure) (n int) {
	for _, f := range figures {
		if f.Fault {
			n++
		}
	}
	return n
}

// Run measures every case with both programs in each round, in an order drawn from seed, and compares them. told is
// called before each measurement; it may be nil.
func Run(ctx context.Context, cases []Case, ours, fio Program, rounds int, seed uint64, told func(round int, c Case)) ([]Figure, error) {
	readings := make([][2][]Reading, len(cases))
	rng := rand.New(rand.NewPCG(seed, 0))
	for round := range rounds {
		for _, i := range rng.Perm(2 * len(cases)) {
			c, program, name := cases[i/2], ours, "plimsoll"
			if i%2 == 1 {
				program, name = fio, "fio"
			}
			if told != nil && i%2 == 0 {
				told(round, c)
			}
			r, err := program(ctx, c)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", c.Name, name, err)
			}
			readings[i/2][i%2] = append(readings[i/2][i%2], r)
		}
	}
	return compare(cases, readings, seed), nil
}

// compare computes the figures of all readings, as one family.
func compare(cases []Case, readings [][2][]Reading, seed uint64) []Figure {
	var m stats.Matrix
	var pairs []stats.Pair
	var out []Figure
	for i, c := range cases {
		for _, f := range figures {
			for side, all := range readings[i] {
				row := make([]float64, len(all))
				for k, r := range all {
					row[k] = f.get(r)
				}
				m.Values = append(m.Values, row)
				m.Cells = append(m.Cells, fmt.Sprintf("%s %s %d", c.Name, f.name, side))
			}
			n := len(m.Values)
			pairs = append(pairs, stats.Pair{Cell: n - 2, Baseline: n - 1})
			out = append(out, Figure{
				Case: c.Name, Name: f.name,
				Ours: stats.Summarize(m.Values[n-2], 0).Median, Fio: stats.Summarize(m.Values[n-1], 0).Median,
			})
		}
	}
	for i, p := range stats.Compare(m, pairs, stats.Options{Seed: seed, Margin: Tolerance}) {
		f := &out[i]
		f.Ratio, f.Low, f.High = p.Ratio, p.Low, p.High
		which := figures[i%len(figures)]
		f.Fault = cases[i/len(figures)].Limited && which.must && f.apart()
	}
	return out
}

// apart reports whether the whole interval lies beyond the tolerance.
func (f *Figure) apart() bool {
	if f.Low <= 0 || f.High <= 0 || math.IsNaN(f.Ratio) {
		return false
	}
	return f.Low > 1+Tolerance || f.High < 1-Tolerance
}
