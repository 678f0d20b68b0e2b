package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Latencies holds the histograms of one cell's trials over the same buckets.
type Latencies struct {
	// Values are the buckets' latencies in ascending order, in any unit.
	Values []float64
	// Counts holds a row for each trial: Counts[trial][bucket]. A nil row is a
	// trial that failed.
	Counts [][]uint64
}

// A Percentile is read from the merged histogram of all trials; percentiles of
// trials are never averaged.
type Percentile struct {
	// P is the fraction, 0.99 for p99.
	P     float64 `json:"p"`
	Value float64 `json:"value"`
	// Low and High bound it by a bootstrap over trials. It aims at 95 %; where trials
	// differ as much as the I/Os within one, eight trials reach 87 %
	// (TestPercentilesCoverage), since few trials seldom hold the worst level: no
	// verdict rests on it. With fewer than six trials the two are the smallest and
	// largest value of a single trial, and Range is set.
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Range bool    `json:"range,omitempty"`
	// NA reports why there is no value: "n/a (only 2,400 I/Os)". A percentile needs
	// at least ten I/Os beyond it in every trial: 10/(1-P).
	NA string `json:"na,omitempty"`
}

// tailSamples is how many I/Os of each trial must lie beyond a percentile.
const tailSamples = 10

// percentileWork bounds resamples x trials: 1,000 for six trials, 200 for 110.
const percentileWork = 22_000

// Percentiles returns one entry for each p, in order. A p outside (0,1) is n/a.
func Percentiles(l Latencies, ps []float64, seed uint64) []Percentile {
	cum, least := cumulate(l)
	out := make([]Percentile, len(ps))
	for i, p := range ps {
		out[i].P = p
		switch {
		case !(p > 0 && p < 1):
			out[i].P, out[i].NA = 0, "n/a (no percentile)"
		case len(cum) == 0:
			out[i].NA = "n/a (no I/Os)"
		case float64(least)*(1-p) < tailSamples-1e-6:
			out[i].NA = "n/a (only " + grouped(float64(least), 0) + " I/O" + map[bool]string{true: ")", false: "s)"}[least == 1]
		default:
			out[i] = percentileOf(l.Values, cum, p, seed)
		}
	}
	return out
}

// cumulate returns running sums by trial, and the fewest I/Os of a trial. Trials without
// a histogram are left out; a trial with one that is empty counts as zero I/Os.
func cumulate(l Latencies) (cum [][]float64, least uint64) {
	for _, row := range l.Counts {
		if row == nil {
			continue
		}
		var n uint64
		c := make([]float64, len(l.Values))
		for k := range c {
			if k < len(row) {
				n += row[k]
			}
			c[k] = float64(n)
		}
		if len(cum) == 0 || n < least {
			least = n
		}
		cum = append(cum, c)
	}
	return cum, least
}

// percentileOf bootstraps one percentile over trials.
func percentileOf(values []float64, cum [][]float64, p float64, seed uint64) Percentile {
	n := len(cum)
	weight := make([]int, n)
	for t := range weight {
		weight[t] = 1
	}
	out := Percentile{P: p, Value: merged(values, cum, weight, p)}
	if n < leastBlocks {
		out.Range = true
		out.Low, out.High = extremes(values, cum, p)
		return out
	}
	rng := rand.New(rand.NewPCG(seed, 0x70657263))
	boot := make([]float64, max(200, min(1000, percentileWork/n)))
	for r := range boot {
		clear(weight)
		for range n {
			weight[rng.IntN(n)]++
		}
		boot[r] = merged(values, cum, weight, p)
	}
	slices.Sort(boot)
	// The plain percentile interval is too narrow by the small sample; its tails are
	// moved out as Hesterberg proposes (https://arxiv.org/abs/1411.5279, section 3.2.1).
	d := float64(n - 1)
	z := math.Sqrt(float64(n)/d) * distuv.StudentsT{Sigma: 1, Nu: d}.Quantile(0.975)
	k := int(math.Floor(math.Erfc(z/math.Sqrt2) / 2 * float64(len(boot))))
	out.Low, out.High = boot[k], boot[len(boot)-1-k]
	return out
}

// merged is the percentile of the trials' histograms added up with weights.
func merged(values []float64, cum [][]float64, weight []int, p float64) float64 {
	last := len(values) - 1
	at := func(k int) float64 {
		var s float64
		for t, w := range weight {
			if w > 0 {
				s += float64(w) * cum[t][k]
			}
		}
		return s
	}
	need := math.Ceil(p*at(last) - 1e-9)
	k := sort.Search(last, func(k int) bool { return at(k) >= need })
	return values[k]
}

// extremes returns the smallest and the largest percentile of a single trial.
func extremes(values []float64, cum [][]float64, p float64) (lo, hi float64) {
	for t := range cum {
		one := make([]int, len(cum))
		one[t] = 1
		v := merged(values, cum, one, p)
		if t == 0 {
			lo, hi = v, v
		}
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}
