package steady

import "math"

// A Criterion is one of those of fio's steadystate option: unlike SNIA's it looks at one figure only.
type Criterion struct {
	// Metric is "iops", "bw" or "lat".
	Metric string `json:"metric"`
	// Slope judges the slope of the best line per sample; otherwise the greatest distance
	// from the mean is judged.
	Slope bool `json:"slope,omitempty"`
	// Limit is what the figure has to stay under: of the mean in percent, or in the metric's unit.
	Limit   float64 `json:"limit"`
	Percent bool    `json:"percent,omitempty"`
}

// Judge returns the figure for one window and whether it keeps the limit.
func (c Criterion) Judge(xs []float64) (figure float64, steady bool) {
	mean, slope := Line(xs)
	figure = slope
	if !c.Slope {
		figure = 0
		for _, x := range xs {
			figure = max(figure, math.Abs(x-mean))
		}
	}
	if c.Percent {
		if mean == 0 {
			return 0, false
		}
		figure = 100 * figure / mean
	}
	return figure, len(xs) > 0 && math.Abs(figure) < c.Limit
}
