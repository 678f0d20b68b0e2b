package check

import (
	"math"
	"time"

	"plimsoll/internal/record"
	"plimsoll/internal/size"
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
	// rounds of a minute (slope 10 %), since these are of about a second.
	steadySamples = 5
	steadySlope   = 0.2
	steadyCV      = 0.25
	// slopeT is the t value that a slope needs to be no accident of the scatter: at 3
	// degrees of freedom it is a chance of about 6 %, at 10 of about 1 %.
	slopeT = 3.0
)

// leastInterval is the shortest interval that is judged. Windows of under twenty seconds are
// sampled finer for the picture (load.SampleEvery); in one of a few seconds a journal's flush looks
// like a step. It lies clear of the 500 ms of a ten-second window, so that the clock's
// jitter decides nothing there.
const leastInterval = 400 * time.Millisecond

// checkSteady looks at the course of the trial: a step down (check 9), or
// figures that drift or scatter.
func checkSteady(v *view) []record.Warning {
	c := workload.CourseOf(v.t.Results, "1/s")
	if c.Step < leastInterval {
		return nil
	}
	if out := step(c); out != nil {
		return out
	}
	return unsteady(c)
}

// after is the time after n intervals of c.
func after(c workload.Course, n int) string {
	return size.Duration((time.Duration(n) * c.Step).Round(100 * time.Millisecond))
}

// step finds the one point at which the rates fall from one level to another:
// the cut that leaves the least scatter around the two medians.
func step(c workload.Course) []record.Warning {
	rates := c.Rates
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
	high, low := median(rates[:bestCut]), median(rates[bestCut:])
	spread := best / float64(n)
	if high <= 0 || low > (1-stepDown)*high || high-low < stepClear*spread {
		return nil
	}
	// It has to have stayed down: a dip that ends is scatter.
	for _, x := range rates[n-stepSide:] {
		if x > (high+low)/2 {
			return nil
		}
	}
	return warning(Burst, record.Doubt, map[string]any{"before": high, "after": low, "at_sample": bestCut, "samples": n, "step_ns": int64(c.Step)},
		"After %s of %s the rate fell from %s to %s and stayed there: burst credits, a cache that was full, or heat. The figure mixes both.",
		after(c, bestCut), after(c, n), rate(high, "1/s"), rate(low, "1/s"))
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
func unsteady(c workload.Course) []record.Warning {
	rates := c.Rates
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
	e := map[string]any{"trend": trend, "cv": cv, "samples": len(rates), "step_ns": int64(c.Step)}
	switch {
	case math.Abs(trend) > steadySlope && math.Abs(t) > slopeT:
		verb := "rose"
		if trend < 0 {
			verb = "fell"
		}
		return warning(Unsteady, record.Doubt, e, "The rate %s by %s of its mean over %s: it had not settled.", verb, percent(math.Abs(trend)), after(c, len(rates)))
	case cv > steadyCV:
		return warning(Unsteady, record.Note, e, "The rate of one interval of %s differs from that of another by %s (coefficient of variation over %s).", after(c, 1), percent(cv), after(c, len(rates)))
	}
	return nil
}
