package check

import (
	"math"
	"slices"
	"time"

	"plimsoll/internal/record"
	"plimsoll/internal/workload"
)

const (
	// stepDown is the fall between two levels that tells of used-up credits, and
	// stepSide the least number of samples on each side.
	stepDown = 0.3
	stepSide = 3
	// stepClear is how many times the spread within the levels the step must be.
	stepClear = 3.0
	// steadySamples is the least number of samples for a trend. steadySlope is how
	// much of the mean a straight line through them may rise or fall from end to end, and
	// steadyCV their coefficient of variation: twice what SNIA's PTS allows for
	// rounds of a minute (slope 10 %), since these are of a second.
	steadySamples = 5
	steadySlope   = 0.2
	steadyCV      = 0.25
	// slopeT is the t value that a slope needs to be no accident of the scatter: at 3
	// degrees of freedom it is a chance of about 6 %, at 10 of about 1 %.
	slopeT = 3.0
)

// checkSteady looks at the samples of a second: a step down (check 9), or
// figures that drift or scatter.
func checkSteady(v *view) []record.Warning {
	rates := sampleRates(v.t.Results)
	if out := step(rates); out != nil {
		return out
	}
	return unsteady(rates)
}

// sampleRates sums the clients' samples into operations per second. Intervals shorter than
// half the usual one, such as the last, are left out.
func sampleRates(results []workload.Result) []float64 {
	var sums []float64
	for i := range results {
		rates := clientRates(&results[i])
		if i == 0 {
			sums = rates
			continue
		}
		// A client that ended early ends the sum: a fall there is no finding.
		sums = sums[:min(len(sums), len(rates))]
		for j := range sums {
			sums[j] += rates[j]
		}
	}
	return sums
}

// leastInterval is the shortest sample that is judged. Windows of under ten seconds
// are sampled finer for the picture; there a journal's flush looks like a step.
const leastInterval = 500 * time.Millisecond

func clientRates(r *workload.Result) []float64 {
	var lengths []time.Duration
	last := time.Duration(0)
	for _, s := range r.Samples {
		lengths = append(lengths, s.At-last)
		last = s.At
	}
	if len(lengths) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(lengths))
	usual := sorted[len(sorted)/2]
	if usual < leastInterval {
		return nil
	}
	var rates []float64
	for i, s := range r.Samples {
		if lengths[i] <= 0 || lengths[i] < usual/2 {
			continue
		}
		rates = append(rates, float64(s.Ops)/lengths[i].Seconds())
	}
	return rates
}

// step finds the one point at which the rates fall from one level to another:
// the cut that leaves the least scatter around the two medians.
func step(rates []float64) []record.Warning {
	n := len(rates)
	best, bestCut := math.Inf(1), 0
	for cut := stepSide; cut <= n-stepSide; cut++ {
		if s := scatter(rates[:cut]) + scatter(rates[cut:]); s < best {
			best, bestCut = s, cut
		}
	}
	if bestCut == 0 {
		return nil
	}
	before, after := median(rates[:bestCut]), median(rates[bestCut:])
	spread := best / float64(n)
	if before <= 0 || after > (1-stepDown)*before || before-after < stepClear*spread {
		return nil
	}
	// It has to have stayed down: a dip that ends is scatter.
	for _, x := range rates[n-stepSide:] {
		if x > (before+after)/2 {
			return nil
		}
	}
	return warning(Burst, record.Doubt, map[string]any{"before": before, "after": after, "at_sample": bestCut, "samples": n},
		"After %d of %d seconds the rate fell from %s to %s and stayed there: burst credits, a cache that was full, or heat. The figure mixes both.",
		bestCut, n, rate(before, "1/s"), rate(after, "1/s"))
}

// scatter is the sum of distances from the median.
func scatter(xs []float64) float64 {
	m, sum := median(xs), 0.0
	for _, x := range xs {
		sum += math.Abs(x - m)
	}
	return sum
}

// unsteady judges the trend and the scatter of the rates.
func unsteady(rates []float64) []record.Warning {
	if len(rates) < steadySamples {
		return nil
	}
	mean, sd := meanSD(rates)
	if mean <= 0 {
		return nil
	}
	xs := make([]float64, len(rates))
	for i := range xs {
		xs[i] = float64(i)
	}
	slope, t := line(xs, rates)
	trend, cv := slope*float64(len(rates)-1)/mean, sd/mean
	e := map[string]any{"trend": trend, "cv": cv, "samples": len(rates)}
	switch {
	case math.Abs(trend) > steadySlope && math.Abs(t) > slopeT:
		verb := "rose"
		if trend < 0 {
			verb = "fell"
		}
		return warning(Unsteady, record.Doubt, e, "The rate %s by %s of its mean over %d seconds: it had not settled.", verb, percent(math.Abs(trend)), len(rates))
	case cv > steadyCV:
		return warning(Unsteady, record.Note, e, "The rate of one second differs from that of another by %s (coefficient of variation over %d seconds).", percent(cv), len(rates))
	}
	return nil
}
