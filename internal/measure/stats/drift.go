package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Trend says whether rates rose or fell in the course of a run. The order of trials is
// random within blocks, so a drift does not bias a ratio; it widens it, and it
// says that the machine was not the same at the end as at the start.
type Trend struct {
	// Trials counts those with a usable value, Cells those with at least two.
	Trials int `json:"trials"`
	Cells  int `json:"cells"`
	// Change is the fitted change over the whole run as a fraction: -0.08 means that
	// rates at the end were 8 % lower than at the start. Low and High bound it at
	// 95 %, taking trials as independent. All are 0 when there are fewer than six trials
	// to spare.
	Change float64 `json:"change"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	// Monotone: of six equal parts of the run each was slower (or each faster) than
	// the one before, by the median of its trials. Chance does that once in 360 runs.
	Monotone bool `json:"monotone,omitempty"`
	// Drifting: the interval excludes 0.
	Drifting bool `json:"drifting,omitempty"`
}

// spareTrials is how many trials more than cells Drift wants.
const spareTrials = 6

// trendParts is the number of parts for Monotone: 2/6! is 1 in 360.
const trendParts = 6

// Drift regresses the logs of all rates on their order in the run, each relative to its
// own cell. order is a trial's position in the run, cell its row, value its rate; the
// three have one entry a trial and are cut to the shortest. Failed trials (NaN) and rates
// that are not positive are left out. A cell counts by the inverse of its variance, so that quiet
// cells show a drift that noisy ones would drown; the error is that of a sandwich
// estimate, which needs no equal variances.
func Drift(order, cell []int, value []float64) Trend {
	ts, cells := centred(order, cell, value)
	t := Trend{Trials: len(ts), Cells: cells}
	df := len(ts) - cells - 1
	if df < spareTrials-1 {
		return t
	}
	first, last := ts[0].order, ts[len(ts)-1].order
	var xx, xy float64
	for _, p := range ts {
		xx += p.weight * p.x * p.x
		xy += p.weight * p.x * p.y
	}
	if xx == 0 {
		return t
	}
	slope := xy / xx
	var meat float64
	for _, p := range ts {
		// HC3: residuals inflated by leverage.
		h := p.weight*p.x*p.x/xx + p.lever
		e := p.weight * p.x * (p.y - slope*p.x) / max(0.1, 1-h)
		meat += e * e
	}
	span := float64(last - first)
	half := distuv.StudentsT{Sigma: 1, Nu: float64(df)}.Quantile(0.975) * math.Sqrt(meat) / xx
	t.Change = fraction(slope * span)
	t.Low, t.High = fraction((slope-half)*span), fraction((slope+half)*span)
	t.Drifting = t.Low > 0 || t.High < 0
	t.Monotone = monotone(ts)
	return t
}

// fraction turns a log into a change that JSON can hold.
func fraction(log float64) float64 { return min(math.MaxFloat64, math.Expm1(log)) }

// a moment is one trial relative to its cell.
type moment struct {
	order int
	// x is order and y log rate, both less the cell's mean.
	x, y float64
	// weight is the inverse of the cell's variance, lever what the cell's mean
	// takes of the trial's leverage.
	weight, lever float64
}

// centred removes the cells' means and sorts by order.
func centred(order, cell []int, value []float64) ([]moment, int) {
	by := map[int][]int{}
	for i := range min(len(order), len(cell), len(value)) {
		if usable(value[i]) {
			by[cell[i]] = append(by[cell[i]], i)
		}
	}
	rows := make([]int, 0, len(by))
	for c, is := range by {
		if len(is) >= 2 {
			rows = append(rows, c)
		}
	}
	// Sums of floats depend on their order; maps have none.
	slices.Sort(rows)
	var out []moment
	spreads := make([]float64, 0, len(rows))
	for _, c := range rows {
		xs, ys := columns(by[c], order, value)
		mx, _ := moments(xs)
		my, s := moments(ys)
		spreads = append(spreads, s)
		for k, i := range by[c] {
			out = append(out, moment{order[i], xs[k] - mx, ys[k] - my, s, 1 / float64(len(xs))})
		}
	}
	usual := Median(spreads)
	for i := range out {
		// A spread from few trials may be tiny by luck; half the usual variance is
		// added so that no cell outweighs all others.
		out[i].weight = 1 / (out[i].weight*out[i].weight + usual*usual/2)
	}
	slices.SortStableFunc(out, func(a, b moment) int { return cmp.Compare(a.order, b.order) })
	return out, len(rows)
}

// columns returns order and log rate of the trials at is.
func columns(is, order []int, value []float64) (xs, ys []float64) {
	for _, i := range is {
		xs = append(xs, float64(order[i]))
		ys = append(ys, math.Log(value[i]))
	}
	return xs, ys
}

// monotone compares the medians of equal parts of the run, in units of each cell's noise.
func monotone(ts []moment) bool {
	if len(ts) < 4*trendParts {
		return false
	}
	var meds []float64
	for k := range trendParts {
		var ys []float64
		for _, p := range ts[k*len(ts)/trendParts : (k+1)*len(ts)/trendParts] {
			ys = append(ys, p.y*math.Sqrt(p.weight))
		}
		meds = append(meds, Median(ys))
	}
	up, down := true, true
	for k := 1; k < len(meds); k++ {
		up = up && meds[k] > meds[k-1]
		down = down && meds[k] < meds[k-1]
	}
	return up || down
}
