package stats

import "math"

// FisherMore is the probability, by Fisher's exact test, that of n+baseN trials of which k+baseK have a property, at least k of
// those with it are among the n, if that is chance alone.
func FisherMore(k, n, baseK, baseN int) float64 {
	all, with := n+baseN, k+baseK
	var p float64
	for i := k; i <= min(n, with); i++ {
		if with-i <= baseN {
			p += math.Exp(logChoose(n, i) + logChoose(baseN, with-i) - logChoose(all, with))
		}
	}
	return min(1, p)
}

// logChoose is the logarithm of the number of ways to choose k of n.
func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}
