package steady

import "math"

// A Criterion is a criterion of fio's steadystate option. Unlike SNIA's it looks at one figure only.
type Criterion struct {
	// Metric is "iops", "bw" or "lat".
	Metric string `json:"metric"`
	// Slope judges the slope of the best line per sample; otherwise the greatest distance
	// from the mean is judged.
	Slope bool `json:"slope,omitempty"`
	// Limit is the upper bound of the figure, in percent of the mean or in the metric's unit.
	Limit   float64 `json:"limit"`
	Percent bool    `json:"percent,omitempty"`
}

// Judge returns the figure for one window and whether it is within the limit.
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
