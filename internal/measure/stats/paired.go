package stats

import (
	"fmt"
	"math"
)

// leastSpread is the smallest standard deviation of a log ratio that is
// believed, 0.01 %. A few blocks can agree to the last digit by luck, or because the
// rate is a small whole number; no storage repeats better than this.
const leastSpread = 1e-4

// paired is one comparison reduced to the logs of its ratios.
type paired struct {
	// blocks is how many blocks the matrix has.
	blocks int
	// logs holds one log ratio for each block in which both trials have a value.
	logs []float64
	// resid holds log ratio minus mean by block of the matrix, 0 where a value
	// is missing, so that blocks line up across the family.
	resid []float64
	mean  float64
	// centre is the estimate that is reported.
	centre float64
	// spread is the standard deviation of logs that their centre shows, at least leastSpread, and freedom its degrees of
	// freedom: see spreadOf.
	spread, freedom float64
	// reason reports why there is nothing to compare; zero tells a cell that moved
	// nothing in any block, for which the ratio is known to be 0.
	reason string
	zero   bool
	// look is the pair's.
	look int
}

// n is the number of blocks that count.
func (p *paired) n() int { return len(p.logs) }

// pair takes the blocks in which both rates are usable. both has the baselines that have controls: see withControls.
func pair(m Matrix, pr Pair, both map[int][]float64) paired {
	cell, base, reason := rows(m, pr, both)
	if reason != "" {
		return paired{reason: reason}
	}
	p := paired{blocks: min(len(cell), len(base)), look: max(0, pr.Look)}
	p.reason, p.zero = unusable(cell, base)
	if p.reason != "" {
		return p
	}
	p.resid = make([]float64, p.blocks)
	for b := range p.blocks {
		if usable(cell[b]) && usable(base[b]) {
			p.logs = append(p.logs, math.Log(cell[b])-math.Log(base[b]))
		}
	}
	p.mean, p.spread, p.freedom = spreadOf(p.logs)
	p.centre = centre(p.logs)
	for b := range p.blocks {
		if usable(cell[b]) && usable(base[b]) {
			p.resid[b] = math.Log(cell[b]) - math.Log(base[b]) - p.mean
		}
	}
	return p
}

// rows returns the values of both cells, cut to the same length.
func rows(m Matrix, pr Pair, both map[int][]float64) (cell, base []float64, reason string) {
	for _, i := range []int{pr.Cell, pr.Baseline} {
		if i < 0 || i >= len(m.Values) {
			return nil, nil, fmt.Sprintf("cell %d is not in the matrix", i)
		}
	}
	cell, base = m.Values[pr.Cell], m.Values[pr.Baseline]
	if row := both[pr.Baseline]; row != nil && !pr.Control {
		base = row
	}
	n := min(len(cell), len(base))
	return cell[:n], base[:n], ""
}

// usable reports whether v is a rate that has a logarithm.
func usable(v float64) bool { return v > 0 && !math.IsInf(v, 1) }

// unusable reports why a pair can't be compared, or nothing. A rate that is zero,
// negative or infinite is no missing trial: dropping it would hide the worst
// trials, so one such value ends the comparison. Missing trials are tolerated while
// they are fewer than half, since survivors of many failures are not a fair sample.
func unusable(cell, base []float64) (reason string, zero bool) {
	for _, side := range []struct {
		name   string
		values []float64
	}{{"", cell}, {"baseline ", base}} {
		k := tally(side.values)
		n := len(side.values)
		switch {
		case n == 0:
			return "no trials", false
		case k.missing == n:
			return fmt.Sprintf("all %d %strials failed", n, side.name), false
		case 2*k.missing >= n:
			return fmt.Sprintf("%d of %d %strials failed", k.missing, n, side.name), false
		case k.zero > 0 && k.zero+k.missing == n:
			return fmt.Sprintf("the %srate was zero in every trial", side.name), side.name == ""
		case k.zero > 0:
			return fmt.Sprintf("the %srate was zero in %d of %d trials", side.name, k.zero, n), false
		case k.bad > 0:
			return fmt.Sprintf("%d of %d %strials %s no valid rate", k.bad, n, side.name, map[bool]string{true: "has", false: "have"}[k.bad == 1]), false
		}
	}
	both := 0
	for b := range cell {
		if usable(cell[b]) && usable(base[b]) {
			both++
		}
	}
	if 2*both <= len(cell) {
		return fmt.Sprintf("only %d of %d blocks have both trials", both, len(cell)), false
	}
	return "", false
}

// counts sorts the values of a cell by what can be done with them.
type counts struct{ missing, zero, bad int }

// tally counts missing, zero, and negative or infinite values.
func tally(values []float64) counts {
	var k counts
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			k.missing++
		case v == 0:
			k.zero++
		case !usable(v):
			k.bad++
		}
	}
	return k
}

// moments returns mean and standard deviation, the latter not below
// leastSpread and 0 for fewer than two values.
func moments(x []float64) (mean, spread float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	if len(x) < 2 {
		return mean, 0
	}
	var ss float64
	for _, v := range x {
		ss += (v - mean) * (v - mean)
	}
	return mean, max(leastSpread, math.Sqrt(ss/float64(len(x)-1)))
}
