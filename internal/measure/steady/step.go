package steady

import (
	"math"
	"slices"
)

const (
	// LeastStep is the minimum change between two levels that counts, as a share of the level before.
	LeastStep = 0.3
	// leastSide is the minimum number of samples on each side of a step.
	leastSide = 5
	// LeastSamples is the minimum number of samples in which a step can be found.
	LeastSamples = 2 * leastSide
	// clear is the minimum ratio of the change to the scatter within the levels.
	clear = 3
)

// A Step is where a series goes from one level to another.
type Step struct {
	// At is the first sample of the new level.
	At int `json:"at"`
	// Before and After are the medians of the samples since the step before and until the step after.
	Before float64 `json:"before"`
	After  float64 `json:"after"`
}

// Change is the rise of the level as a share of the level before; it is negative for a fall.
func (s Step) Change() float64 { return s.After/s.Before - 1 }

// Steps returns the steps of at least LeastStep in a series, in order. One or a few high or low samples are not a step.
// Fewer than ten samples contain none.
func Steps(xs []float64) []Step {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil
		}
	}
	sum, sq := make([]float64, len(xs)+1), make([]float64, len(xs)+1)
	for i, x := range xs {
		sum[i+1], sq[i+1] = sum[i]+x, sq[i]+x*x
	}
	var cuts []int
	segment(sum, sq, 0, len(xs), 6*variance(xs)*math.Log(float64(len(xs)+1)), &cuts)
	slices.Sort(cuts)
	cuts = prune(xs, cuts)
	var out []Step
	for i, at := range cuts {
		from, to := bounds(cuts, i, len(xs))
		s, _ := step(xs, from, at, to)
		out = append(out, s)
	}
	return out
}

// bounds returns the ends of the levels on both sides of cut i.
func bounds(cuts []int, i, n int) (from, to int) {
	to = n
	if i > 0 {
		from = cuts[i-1]
	}
	if i+1 < len(cuts) {
		to = cuts[i+1]
	}
	return from, to
}

// prune removes the cuts that are not steps between their neighbours, the smallest first.
func prune(xs []float64, cuts []int) []int {
	size := make([]float64, len(cuts)) // of each cut that is not a step; Inf for a step
	judge := func(i int) {
		if i < 0 || i >= len(cuts) {
			return
		}
		from, to := bounds(cuts, i, len(xs))
		s, ok := step(xs, from, cuts[i], to)
		size[i] = math.Abs(s.After - s.Before)
		if ok {
			size[i] = math.Inf(1)
		}
	}
	for i := range cuts {
		judge(i)
	}
	for len(cuts) > 0 {
		worst := 0
		for i := range size {
			if size[i] < size[worst] {
				worst = i
			}
		}
		if math.IsInf(size[worst], 1) {
			break
		}
		cuts, size = slices.Delete(cuts, worst, worst+1), slices.Delete(size, worst, worst+1)
		judge(worst - 1)
		judge(worst)
	}
	return cuts
}

// variance returns the variance of the noise, from the median distance between neighbours, which steps don't affect. In
// normal noise that distance is 0.6745 * sqrt(2) standard deviations, 1/1.05.
func variance(xs []float64) float64 {
	if len(xs) < 2 {
		return 0
	}
	d := make([]float64, len(xs)-1)
	for i := range d {
		d[i] = math.Abs(xs[i+1] - xs[i])
	}
	sd := 1.05 * median(d)
	return sd * sd
}

// segment cuts [from, to) at the point that leaves the smallest sum of squares around the two means, if the cut reduces
// the sum by more than least, and continues in both parts (binary segmentation). A short burst in a long series reduces
// the sum little at first; so least is only slightly more than the best of many cuts achieves in pure noise.
func segment(sum, sq []float64, from, to int, least float64, cuts *[]int) {
	if to-from < 2*leastSide {
		return
	}
	best, at := math.Inf(1), 0
	for cut := from + leastSide; cut <= to-leastSide; cut++ {
		if e := squares(sum, sq, from, cut) + squares(sum, sq, cut, to); e < best {
			best, at = e, cut
		}
	}
	// Rounding leaves a remainder even of a constant.
	if whole := squares(sum, sq, from, to); at == 0 || whole-best <= max(least, 1e-9*sq[to]) {
		return
	}
	*cuts = append(*cuts, at)
	segment(sum, sq, from, at, least, cuts)
	segment(sum, sq, at, to, least, cuts)
}

// squares returns the sum of squared distances from the mean of [from, to).
func squares(sum, sq []float64, from, to int) float64 {
	s := sum[to] - sum[from]
	return sq[to] - sq[from] - s*s/float64(to-from)
}

// step judges the cut at between from and to.
func step(xs []float64, from, at, to int) (Step, bool) {
	a, b := xs[from:at], xs[at:to]
	s := Step{At: at, Before: median(a), After: median(b)}
	spread := (scatter(a, s.Before) + scatter(b, s.After)) / float64(to-from)
	d := math.Abs(s.After - s.Before)
	return s, s.Before > 0 && d >= LeastStep*s.Before && d >= clear*spread
}

func median(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// scatter returns the sum of the distances from m.
func scatter(xs []float64, m float64) float64 {
	t := 0.0
	for _, x := range xs {
		t += math.Abs(x - m)
	}
	return t
}
