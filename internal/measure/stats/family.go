package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// pointwiseAlpha returns the level at which each comparison must be stated alone so
// that all hold together at the given confidence. It lies halfway, on a log scale,
// between Sidak's level, which grants nothing for what comparisons have in common and
// holds whatever that is, and the level of the block bootstrap, which grants
// all. The bootstrap alone is a third narrower where all cells share a noisy
// baseline, but then misses in 9 of 100 reports if that noise is one-sided.
func pointwiseAlpha(ps []paired, confidence float64, resamples int, rng *rand.Rand) float64 {
	if len(ps) <= 1 {
		return 1 - confidence
	}
	// Sidak: 1 - confidence^(1/n), written so that it survives large n.
	sidak := -math.Expm1(math.Log(confidence) / float64(len(ps)))
	return math.Sqrt(sidak * max(sidak, blockAlpha(ps, confidence, resamples, rng)))
}

// blockAlpha is the level by a bootstrap over blocks of the largest standardised
// deviation in the family: each resample gives every block one weight, the same for all
// pairs, so that what pairs share (a baseline, a drift) stays shared. The
// weights are normal (a multiplier bootstrap), because the 462 multinomial resamples of
// six blocks are too coarse for a tail of one in a thousand.
//
// Six blocks can't show how little eighty pairs have in common: in their five
// dimensions everything looks related. So a part of each deviation is drawn
// independently, as large as the correlation that independent data of this size would
// show (the shrinkage of Schafer and Strimmer,
// https://doi.org/10.2202/1544-6115.1175). It vanishes with more blocks.
func blockAlpha(ps []paired, confidence float64, resamples int, rng *rand.Rand) float64 {
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
	// Rounded up: the resampling error must not narrow the intervals.
	k := min(resamples-1, int(math.Ceil(confidence*float64(resamples))))
	return math.Erfc(largest[k] / math.Sqrt2)
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
