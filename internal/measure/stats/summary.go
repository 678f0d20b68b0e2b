package stats

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// A Summary describes the values of one cell over its trials.
type Summary struct {
	// N counts the trials that have a finite value.
	N int `json:"n"`
	// Median and MAD, the median absolute deviation from it, in the values' unit.
	Median float64 `json:"median"`
	MAD    float64 `json:"mad"`
	// Low and High are an interval of the median from order statistics, which needs no
	// distribution. With fewer than six trials none exists at 95 %: then they
	// are the smallest and the largest value, Range is set, and it must be called a range.
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Range bool    `json:"range,omitempty"`
	// Confidence is what the interval really has, at least what was asked; 0 for
	// a range.
	Confidence float64 `json:"confidence"`
}

// Summarize describes values; NaN and infinite ones are left out. A confidence outside
// (0,1) means 0.95.
func Summarize(values []float64, confidence float64) Summary {
	if !(confidence > 0 && confidence < 1) {
		confidence = 0.95
	}
	x := finite(values)
	if len(x) == 0 {
		return Summary{}
	}
	// benchmath's Sample sorts in place; x is a copy.
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(x, &benchmath.DefaultThresholds), confidence)
	out := Summary{
		N: len(x), Median: s.Center, MAD: mad(x, s.Center),
		Low: s.Lo, High: s.Hi, Confidence: s.Confidence,
	}
	if math.IsInf(s.Lo, 0) || math.IsInf(s.Hi, 0) {
		out.Low, out.High, out.Confidence, out.Range = x[0], x[len(x)-1], 0, true
	}
	return out
}

// finite copies the values that are numbers.
func finite(values []float64) []float64 {
	var x []float64
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			x = append(x, v)
		}
	}
	return x
}

// Median returns the middle of x, 0 for none.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	y := slices.Clone(x)
	slices.Sort(y)
	return y[(len(y)-1)/2]/2 + y[len(y)/2]/2
}

// mad is the median distance from m.
func mad(x []float64, m float64) float64 {
	d := make([]float64, len(x))
	for i, v := range x {
		d[i] = math.Abs(v - m)
	}
	return Median(d)
}

// outlierMADs is the distance from the median, in MADs, from which a trial is an
// outlier: ten standard deviations of normal data. The threshold is hyperfine's
// (https://github.com/sharkdp/hyperfine, src/outlier_detection.rs).
const outlierMADs = 14.826

// leastMAD is the smallest MAD of log rates that Outliers believes, 0.2 %: the MAD of six
// values that happen to agree is next to nothing, and a trial 1 % off is no outlier.
const leastMAD = 0.002

// Outliers returns the indexes of rates that lie more than 14.8 MADs from the median of
// their logs, in order. They are to be looked into, never deleted. Missing trials and
// rates that are not positive are not outliers but failures; fewer than four
// rates have none.
func Outliers(rates []float64) []int {
	logs := make([]float64, len(rates))
	var x []float64
	for i, v := range rates {
		logs[i] = math.NaN()
		if usable(v) {
			logs[i] = math.Log(v)
			x = append(x, logs[i])
		}
	}
	if len(x) < 4 {
		return nil
	}
	m := Median(x)
	limit := outlierMADs * max(leastMAD, mad(x, m))
	var out []int
	for i, l := range logs {
		if math.Abs(l-m) > limit {
			out = append(out, i)
		}
	}
	return out
}
