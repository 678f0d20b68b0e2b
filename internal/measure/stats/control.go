package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// withControls returns, by row of a baseline that has controls, the rates of all of them together: in each block their
// geometric mean. They are the same thing measured several times, so a comparison with all has less noise. A block in which
// one of them failed has that of the others.
func withControls(m Matrix, pairs []Pair) map[int][]float64 {
	all := map[int][][]float64{}
	for _, pr := range pairs {
		if cell, base, reason := rows(m, pr, nil); pr.Control && reason == "" && pr.Cell != pr.Baseline {
			if all[pr.Baseline] == nil {
				all[pr.Baseline] = [][]float64{base}
			}
			all[pr.Baseline] = append(all[pr.Baseline], cell)
		}
	}
	out := map[int][]float64{}
	for base, rows := range all {
		row := make([]float64, len(m.Values[base]))
		for b := range row {
			row[b] = together(rows, b)
		}
		out[base] = row
	}
	return out
}

// together is the geometric mean of the rates in one block that are not missing, NaN if all are. A rate that has no logarithm
// stays: pair refuses it.
func together(rows [][]float64, b int) float64 {
	logs, n := 0.0, 0
	for _, row := range rows {
		switch {
		case b >= len(row) || math.IsNaN(row[b]):
		case !usable(row[b]):
			return row[b]
		default:
			logs += math.Log(row[b])
			n++
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return math.Exp(logs / float64(n))
}

// trustInNoise is the weight, as a number of controls, of the belief that blocks show all the noise there is.
const trustInNoise = 4

// excessNoise is the factor by which identical cells differ more than their blocks show, at least 1. Something that stays
// the same in all blocks, such as where on the disk a place lies, is no noise to them. All controls together tell
// (the ratio of Birge, https://doi.org/10.1103/PhysRev.40.207): if there is nothing but noise, the sum of the squares of their deviations,
// each in standard errors, is below the median of the chi-squared distribution half of the time.
func excessNoise(pairs []Pair, at []int, spans []span) float64 {
	var sum float64
	n := 0
	for k, i := range at {
		if s := spans[k]; pairs[i].Control && s.err > 0 {
			sum += s.centre / s.err * s.centre / s.err
			n++
		}
	}
	if n == 0 {
		return 1
	}
	median := distuv.ChiSquared{K: float64(n)}.Quantile(0.5)
	return math.Sqrt(max(1, (trustInNoise+sum)/(trustInNoise+median)))
}
