// Package steady judges series of samples: when they become steady, and where they step from one level to another.
//
// Steady is meant as in SNIA's Solid State Storage Performance Test Specification: over five consecutive rounds, the
// range of the values is at most 20 % of their mean, and the best straight line through them rises or falls by at most
// 10 % of it. Here both the throughput and the mean latency must meet this. A round is whatever the caller samples; in
// the specification it is a minute.
//
// Easily got wrong: five rounds of one second can be steady by accident, in a run that has not begun to drift. A long
// run needs long rounds (Rounds).
//
// The package does no I/O and does not depend on jobs.
package steady

import (
	"math"
	"time"
)

// The criteria of SNIA's specification (SSS PTS 2.0.1, 2.1.24).
const (
	// WindowRounds is the number of rounds that are judged together.
	WindowRounds = 5
	// MaxRange is the maximum range of the values, and MaxSlope the maximum rise or fall of the line through them from
	// the first round to the last, both as a share of their mean.
	MaxRange = 0.20
	MaxSlope = 0.10
)

// A Judgement describes one window of one series.
type Judgement struct {
	Mean float64 `json:"mean"`
	// Range is the largest value minus the smallest. Slope is how much the best straight line rises from the first
	// value to the last; it is negative if the line falls. Both are shares of the mean.
	Range float64 `json:"range"`
	Slope float64 `json:"slope"`
}

// Steady reports whether both criteria hold.
func (j Judgement) Steady() bool {
	return j.Mean > 0 && j.Range <= MaxRange && math.Abs(j.Slope) <= MaxSlope
}

// Judge judges one window. A window whose mean isn't above 0, or that contains a number that isn't finite, is never
// steady.
func Judge(xs []float64) Judgement {
	mean, slope := Line(xs)
	if len(xs) == 0 || !(mean > 0) || math.IsInf(mean, 0) {
		return Judgement{}
	}
	lo, hi := xs[0], xs[0]
	for _, x := range xs {
		lo, hi = min(lo, x), max(hi, x)
	}
	return Judgement{Mean: mean, Range: (hi - lo) / mean, Slope: slope * float64(len(xs)-1) / mean}
}

// Line returns the mean of xs and the slope of the least-squares line through them, per sample.
func Line(xs []float64) (mean, slope float64) {
	n := float64(len(xs))
	if n == 0 {
		return 0, 0
	}
	for _, x := range xs {
		mean += x / n
	}
	var num, den float64
	for i, x := range xs {
		d := float64(i) - (n-1)/2
		num += d * (x - mean)
		den += d * d
	}
	if den == 0 {
		return mean, 0
	}
	return mean, num / den
}

// A Series holds samples of rounds of the same length.
type Series struct {
	Round time.Duration
	// Throughput is in any unit. Latency, the mean of each round, may be missing.
	Throughput []float64
	Latency    []float64
}

// A Finding says whether and when a series became steady.
type Finding struct {
	// Steady reports whether any window was steady. From and To are the rounds of the first such window, [From, To), or
	// those of the last window if none was.
	Steady bool `json:"steady"`
	From   int  `json:"from"`
	To     int  `json:"to"`
	// After is the time until the series was steady: from the start of the series to the start of the window.
	After time.Duration `json:"after"`
	// Throughput and Latency are the judgements of that window.
	Throughput Judgement `json:"throughput"`
	Latency    Judgement `json:"latency"`
}

// Find looks for the first steady window of WindowRounds rounds.
func Find(s Series) Finding {
	n := len(s.Throughput)
	if s.Latency != nil {
		n = min(n, len(s.Latency))
	}
	var f Finding
	for from := 0; from+WindowRounds <= n; from++ {
		to := from + WindowRounds
		f = Finding{From: from, To: to, After: time.Duration(from) * s.Round, Throughput: Judge(s.Throughput[from:to])}
		f.Steady = f.Throughput.Steady()
		if s.Latency != nil {
			f.Latency = Judge(s.Latency[from:to])
			f.Steady = f.Steady && f.Latency.Steady()
		}
		if f.Steady {
			return f
		}
	}
	return f
}
