package stats

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Bounds of the true standard deviation of a log ratio, in which the prior is
// flat on the log scale: from a tenth of leastSpread to a factor of e^10.
const (
	gridLow  = leastSpread / 10
	gridHigh = 10.0
)

// The method's prior; both chosen by simulation, see
// METHOD.md.
const (
	// strangers is the weight of the flat prior, in cells: how ready the method is to
	// believe that a cell is as noisy as no other in the report.
	strangers = 1.0
	// sharpenings is how often the others' beliefs replace their likelihoods in the
	// prior. A likelihood from six blocks is smeared by a factor of two; two rounds
	// undo most of that. More rounds win little and begin to cost coverage.
	sharpenings = 2
)

// A belief is what is known of one comparison's true standard deviation:
// weights, summing to 1, over the family's grid.
type belief struct {
	sigma  []float64
	weight []float64
}

// beliefs estimates the true standard deviation of every pair. Six blocks tell it
// to no better than a factor of two, and the smallest of eighty such estimates is far
// too small: that is what makes naive intervals too narrow and honest ones too
// wide. But the family as a whole shows which noise levels exist. So each pair's
// prior is the mixture of the others' likelihoods, which needs no two cells to be
// alike: levels form clusters (memory, disk) or don't, and a pair that resembles no
// other falls back to the flat part, for which the interval is exactly
// Student's. A pair does not vouch for itself, and pairs that share the noise of
// their baseline vouch for each other only by what they don't share.
func beliefs(ps []paired, strangers float64, sharpenings int) []belief {
	sigma := grid(ps)
	like := make([][]float64, len(ps))
	for i := range ps {
		like[i] = likelihood(&ps[i], sigma)
	}
	say := vouches(ps)
	step := math.Log(sigma[1] / sigma[0])
	flat := strangers * step / math.Log(gridHigh/gridLow)
	known := like
	for range sharpenings + 1 {
		next := make([][]float64, len(ps))
		for i := range ps {
			next[i] = posterior(prior(i, known, say, flat), like[i])
		}
		known = next
	}
	out := make([]belief, len(ps))
	for i := range ps {
		// A spread beyond the grid is absurd data; its width must be absurd too.
		excess := max(1, ps[i].spread/gridHigh)
		for g, w := range known[i] {
			// Below this a weight can't move a tail probability that matters.
			if w > 1e-12 {
				out[i].sigma = append(out[i].sigma, sigma[g]*excess)
				out[i].weight = append(out[i].weight, w)
			}
		}
	}
	return out
}

// prior of pair i: the flat part and what is known of the others.
func prior(i int, known [][]float64, say *mat.Dense, flat float64) []float64 {
	out := make([]float64, len(known[i]))
	for g := range out {
		out[g] = flat
	}
	for j := range known {
		w := say.At(i, j)
		if w <= 0 {
			continue
		}
		for g, k := range known[j] {
			out[g] += w * k
		}
	}
	return out
}

// grid spans the standard deviations, finely enough for the pair with most blocks.
func grid(ps []paired) []float64 {
	most := 2
	for i := range ps {
		most = max(most, ps[i].n())
	}
	// The likelihood of log sigma is about 1/sqrt(2(n-1)) wide.
	step := min(0.1, 0.35/math.Sqrt(2*float64(most-1)))
	n := int(math.Ceil(math.Log(gridHigh/gridLow)/step)) + 1
	out := make([]float64, n)
	for g := range out {
		out[g] = gridLow * math.Exp(step*float64(g))
	}
	return out
}

// likelihood is that of the sample variance of normal data at each sigma,
// scaled to sum to 1.
func likelihood(p *paired, sigma []float64) []float64 {
	d := p.freedom
	out := make([]float64, len(sigma))
	var sum float64
	for g, s := range sigma {
		r := min(p.spread, gridHigh) / s
		// Scaled by its own maximum, at r = 1, to keep clear of underflow.
		out[g] = math.Exp(d*math.Log(r) - d*(r*r-1)/2)
		sum += out[g]
	}
	for g := range out {
		out[g] /= sum
	}
	return out
}

// posterior multiplies and normalises.
func posterior(prior, like []float64) []float64 {
	out := make([]float64, len(like))
	var sum float64
	for g := range out {
		out[g] = prior[g] * like[g]
		sum += out[g]
	}
	for g := range out {
		out[g] /= sum
	}
	return out
}

// vouches returns how much pair j's spread says about pair i's. Variances of two
// normal variables correlate by the square of the variables' own correlation;
// the squared correlation of n blocks is corrected for what independent data would
// show, 1/(n-1).
func vouches(ps []paired) *mat.Dense {
	n := len(ps)
	shared := mat.NewDense(n, n, nil)
	crowd := make([]float64, n)
	for i := range ps {
		for j := range ps {
			r2 := sharedNoise(&ps[i], &ps[j])
			shared.Set(i, j, r2)
			crowd[i] += r2
		}
	}
	out := mat.NewDense(n, n, nil)
	for i := range ps {
		for j := range ps {
			if i != j {
				out.Set(i, j, (1-shared.At(i, j))/crowd[j])
			}
		}
	}
	return out
}

// sharedNoise is the corrected squared correlation of two pairs, 0 to 1.
func sharedNoise(p, q *paired) float64 {
	if p == q {
		return 1
	}
	d := float64(min(p.n(), q.n()) - 1)
	if d <= 1 {
		return 0
	}
	r := correlation(p.resid, q.resid)
	return max(0, (r*r-1/d)/(1-1/d))
}

// correlation of two residual rows of mean 0.
func correlation(x, y []float64) float64 {
	var xx, yy, xy float64
	for b := range min(len(x), len(y)) {
		xx += x[b] * x[b]
		yy += y[b] * y[b]
		xy += x[b] * y[b]
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return xy / math.Sqrt(xx*yy)
}

// deviation is the standard deviation that is believed, all in all.
func (b belief) deviation() float64 {
	var ss float64
	for g, s := range b.sigma {
		ss += b.weight[g] * s * s
	}
	return math.Sqrt(ss)
}

// halfWidth returns h such that the mean of n logs lies further than h from the
// truth with probability alpha, over all that is believed of sigma.
func (b belief) halfWidth(n int, alpha float64) float64 {
	root := math.Sqrt(float64(n))
	miss := func(h float64) float64 {
		var p float64
		for g, s := range b.sigma {
			p += b.weight[g] * math.Erfc(h*root/s/math.Sqrt2)
		}
		return p
	}
	// The root of log(miss/alpha), by false position with Illinois's damping: about 7
	// evaluations where bisection takes 14.
	f := func(h float64) float64 { return math.Log(max(miss(h), 1e-300) / alpha) }
	lo, hi := 0.0, b.sigma[len(b.sigma)-1]/root
	flo, fhi := -math.Log(alpha), f(hi)
	for fhi > 0 {
		lo, flo, hi = hi, fhi, 2*hi
		fhi = f(hi)
	}
	for range 60 {
		if hi-lo <= 1e-4*hi {
			break
		}
		mid := (lo*fhi - hi*flo) / (fhi - flo)
		fmid := f(mid)
		switch {
		case math.Abs(fmid) < 1e-4:
			return mid
		case fmid > 0:
			lo, flo = mid, fmid
			fhi /= 2
		default:
			hi, fhi = mid, fmid
			flo /= 2
		}
	}
	return hi
}
