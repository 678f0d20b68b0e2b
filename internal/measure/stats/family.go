package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// spent is the part of alpha that look k, from 0, may spend. Who looks at verdicts and adds blocks until he likes them finds
// differences where there are none: of four looks, each after twice as many blocks, 14 of 100 show one. The looks
// spend 80, 27, 13 and 8 % of the level. In simulation that keeps the errors of two to four looks together between 4.7 and 5.4 of 100, because
// looks at the same blocks have much in common. It costs the first look of a report with 80 comparisons 2 % of its width.
func spent(alpha float64, k int) float64 { return alpha * 1.6 / float64((k+1)*(k+2)) }

// levels returns a function of a family's confidence: the level at which each comparison must be stated alone so
// that all hold together. It lies halfway, on a log scale,
// between Sidak's level, which grants nothing for what comparisons have in common and
// holds whatever that is, and the level of the block bootstrap, which grants
// all. The bootstrap alone is a third narrower where all cells share a noisy
// baseline, but then misses in 9 of 100 reports if that noise is one-sided.
func levels(ps []paired, resamples int, rng *rand.Rand) func(confidence float64) float64 {
	if len(ps) <= 1 {
		return func(confidence float64) float64 { return 1 - confidence }
	}
	largest := largestDeviations(ps, resamples, rng)
	known := map[float64]float64{}
	return func(confidence float64) float64 {
		if alpha, ok := known[confidence]; ok {
			return alpha
		}
		// Sidak: 1 - confidence^(1/n), written so that it survives large n.
		sidak := -math.Expm1(math.Log(confidence) / float64(len(ps)))
		// Rounded up: the resampling error must not narrow the intervals.
		k := min(resamples-1, int(math.Ceil(confidence*float64(resamples))))
		alpha := math.Sqrt(sidak * max(sidak, math.Erfc(largest[k]/math.Sqrt2)))
		known[confidence] = alpha
		return alpha
	}
}

// largestDeviations draws, by a bootstrap over blocks, the largest standardised
// deviation in the family, and returns all draws in order: each resample gives every block one weight, the same for all
// pairs, so that what pairs share (a baseline, a drift) stays shared. The
// weights are normal (a multiplier bootstrap), because the 462 multinomial resamples of
// six blocks are too coarse for a tail of one in a thousand.
//
// Six blocks can't show how little eighty pairs have in common: in their five
// dimensions everything looks related. So a part of each deviation is drawn
// independently, as large as the correlation that independent data of this size would
// show (the shrinkage of Schafer and Strimmer,
// https://doi.org/10.2202/1544-6115.1175). It vanishes with more blocks.
func largestDeviations(ps []paired, resamples int, rng *rand.Rand) []float64 {
	unit := unitRows(ps)
	keep := math.Sqrt(signal(ps))
	rest := math.Sqrt(1 - keep*keep)
	pairs, blocks := len(ps), len(unit)
	z := make([]float64, pairs)
	largest := make([]float64, resamples)
	for r := range largest {
		for i := range z {
			z[i] = 0
		}
		for b := range blocks {
			w := keep * rng.NormFloat64()
			row := unit[b]
			for i, u := range row {
				z[i] += w * u
			}
		}
		for i := range z {
			largest[r] = max(largest[r], math.Abs(z[i]+rest*rng.NormFloat64()))
		}
	}
	slices.Sort(largest)
	return largest
}

// unitRows returns residuals by block and pair, each pair scaled to length 1.
func unitRows(ps []paired) [][]float64 {
	blocks := 0
	for i := range ps {
		blocks = max(blocks, len(ps[i].resid))
	}
	out := make([][]float64, blocks)
	for b := range out {
		out[b] = make([]float64, len(ps))
	}
	for i := range ps {
		var ss float64
		for _, r := range ps[i].resid {
			ss += r * r
		}
		for b, r := range ps[i].resid {
			if ss > 0 {
				out[b][i] = r / math.Sqrt(ss)
			}
		}
	}
	return out
}

// signal is the share of the squared correlation seen between pairs that is
// more than chance, 0 to 1.
func signal(ps []paired) float64 {
	var seen, chance float64
	for i := range ps {
		for j := range i {
			r := correlation(ps[i].resid, ps[j].resid)
			seen += r * r
			d := float64(max(1, min(ps[i].n(), ps[j].n())-1))
			// The variance of a sample correlation is about (1-rho^2)^2/(n-1).
			u := max(0, (r*r-1/d)/max(1-1/d, 1/d))
			chance += (1 - u) * (1 - u) / d
		}
	}
	if seen == 0 {
		return 0
	}
	return max(0, 1-chance/seen)
}
