package check

import (
	"math"
	"slices"
)

// median returns the middle of xs, NaN if there is none.
func median(xs []float64) float64 {
	n := len(xs)
	if n == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(xs))
	if n%2 == 1 {
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}

// meanSD returns the mean and the sample standard deviation.
func meanSD(xs []float64) (mean, sd float64) {
	n := float64(len(xs))
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	for _, x := range xs {
		mean += x / n
	}
	if n < 2 {
		return mean, 0
	}
	for _, x := range xs {
		sd += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(sd / (n - 1))
}

// line fits a straight line by least squares and returns its slope and the slope's t value: 0 where there is nothing to
// fit, infinite for points that lie exactly on a line.
func line(xs, ys []float64) (slope, t float64) {
	n := float64(len(xs))
	if n < 3 {
		return 0, 0
	}
	mx, _ := meanSD(xs)
	my, _ := meanSD(ys)
	var sxx, sxy, syy float64
	for i := range xs {
		dx, dy := xs[i]-mx, ys[i]-my
		sxx += dx * dx
		sxy += dx * dy
		syy += dy * dy
	}
	if sxx == 0 || sxy == 0 {
		return 0, 0
	}
	slope = sxy / sxx
	rest := max(0, syy-slope*sxy) / (n - 2)
	return slope, slope / math.Sqrt(rest/sxx)
}
