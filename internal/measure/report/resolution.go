package report

import (
	"fmt"
	"math"

	"plimsoll/internal/measure/stats"
)

// resolutionText says how small a difference this run can tell; empty if resolution is.
func (r *Report) resolutionText() string {
	if fine := r.resolution(); fine != "" {
		return "This run can tell differences of " + fine + "; smaller ones are lost in the noise of this machine."
	}
	return ""
}

// resolution is the smallest difference that this run can tell at its steadiest and at its noisiest workload: half of the
// width of their intervals. It is empty where there are no intervals, or too few blocks for proof.
func (r *Report) resolution() string {
	var least, most struct {
		name string
		half float64
	}
	n := 0
	for _, w := range r.Workloads {
		var halves []float64
		for _, c := range w.Cells {
			if x := c.Compared; x != nil && c.Kind != Control && x.Low.Known() && x.Low > 0 && !x.Tentative {
				halves = append(halves, 1-math.Exp(-math.Log(float64(x.High/x.Low))/2))
			}
		}
		if len(halves) == 0 {
			continue
		}
		half := stats.Median(halves)
		if n == 0 || half < least.half {
			least.name, least.half = w.Name, half
		}
		if n == 0 || half > most.half {
			most.name, most.half = w.Name, half
		}
		n++
	}
	percent := func(x float64) string { return fmt.Sprintf("%.0f %%", max(1, math.Ceil(100*x))) }
	switch low, high := percent(least.half), percent(most.half); {
	case n == 0:
		return ""
	case n == 1 || low == high:
		return high
	default:
		return fmt.Sprintf("%s (%s) to %s (%s)", low, least.name, high, most.name)
	}
}
