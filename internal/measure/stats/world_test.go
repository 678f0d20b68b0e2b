package stats

import (
	"math"
	"math/rand/v2"
)

// A world makes matrices in which every cell has the same true mean log rate.
type world struct {
	name string
	// noise draws one deviation of the log rate of mean 0 and standard deviation 1
	// (t3: scaled), for a cell of noise level scale.
	noise func(r *rand.Rand, scale float64) float64
	// scale gives a cell's noise; k counts the cells of the workload, 0 the baseline.
	scale func(r *rand.Rand, workload, k int) float64
	// outlier hits one block.
	outlier bool
	// stalls says that noise is stallNoise, whose median is not its mean.
	stalls bool
}

func normalNoise(r *rand.Rand, scale float64) float64 { return scale * r.NormFloat64() }

// linearNoise is normal in the rate, and so skewed in its log.
func linearNoise(r *rand.Rand, scale float64) float64 {
	return math.Log(max(0.05, 1+scale*r.NormFloat64()))
}

func t3Noise(r *rand.Rand, scale float64) float64 {
	var ss float64
	for range 3 {
		z := r.NormFloat64()
		ss += z * z
	}
	return scale * r.NormFloat64() / math.Sqrt(ss)
}

// stallNoise slows a trial down by an exponential amount: one-sided.
func stallNoise(r *rand.Rand, scale float64) float64 { return scale * (1 - r.ExpFloat64()) }

func even(*rand.Rand, int, int) float64 { return 0.05 }

// mixed is memory and disk in one workload, the disk being the baseline of even workloads.
func mixed(_ *rand.Rand, w, k int) float64 {
	if (w+k)%2 == 0 {
		return 0.15
	}
	return 0.01
}

// graded has as many noise levels as cells.
func graded(r *rand.Rand, _, _ int) float64 { return 0.01 * math.Exp(r.Float64()*math.Log(15)) }

// lone has a single noisy cell in a quiet report.
func lone(_ *rand.Rand, w, k int) float64 {
	if w == 0 && k == 1 {
		return 0.06
	}
	return 0.01
}

// noisyBase has all noise in the baseline.
func noisyBase(_ *rand.Rand, _, k int) float64 {
	if k == 0 {
		return 0.15
	}
	return 0.01
}

var worlds = []world{
	{name: "lognormal", noise: normalNoise, scale: even},
	{name: "normal 15 %", noise: linearNoise, scale: func(*rand.Rand, int, int) float64 { return .15 }},
	{name: "t3", noise: t3Noise, scale: even},
	{name: "stalls", noise: stallNoise, scale: even, stalls: true},
	{name: "memory and disk", noise: normalNoise, scale: mixed},
	{name: "memory and disk, t3", noise: t3Noise, scale: mixed},
	{name: "memory and disk, stalls", noise: stallNoise, scale: mixed, stalls: true},
	{name: "graded", noise: normalNoise, scale: graded},
	{name: "graded, t3", noise: t3Noise, scale: graded},
	{name: "graded, stalls", noise: stallNoise, scale: graded, stalls: true},
	{name: "one noisy cell", noise: normalNoise, scale: lone},
	{name: "noisy baseline", noise: normalNoise, scale: noisyBase},
	{name: "noisy baseline, stalls", noise: stallNoise, scale: noisyBase, stalls: true},
	{name: "outlier block", noise: normalNoise, scale: even, outlier: true},
	{name: "memory and disk, outlier block", noise: normalNoise, scale: mixed, outlier: true},
}

// family says how many workloads of how many compared cells.
type family struct{ workloads, cells int }

var families = []family{{1, 1}, {1, 10}, {8, 10}}

// draw makes one report; truth holds the true log ratio of each pair, by aim.
func (w world) draw(r *rand.Rand, f family, blocks int) (m Matrix, pairs []Pair, truth [3][]float64) {
	drift := make([]float64, blocks)
	for b := range drift {
		drift[b] = 0.1*float64(b) + 0.05*r.NormFloat64()
	}
	bad := r.IntN(blocks)
	for wl := range f.workloads {
		base := len(m.Values)
		var s0 float64
		for k := range f.cells + 1 {
			s := w.scale(r, wl, k)
			if k == 0 {
				s0 = s
			}
			row := make([]float64, blocks)
			for b := range row {
				x := drift[b] + w.noise(r, s)
				if w.outlier && b == bad {
					x -= 0.3 * r.ExpFloat64()
				}
				row[b] = 1000 * math.Exp(x)
			}
			m.Values = append(m.Values, row)
			m.Cells = append(m.Cells, "")
			if k > 0 {
				pairs = append(pairs, Pair{Cell: base + k, Baseline: base})
				var centre, mid float64
				if w.stalls {
					centre, mid = stallCentre(s, s0), stallMedian(s, s0)
				}
				truth[theMean] = append(truth[theMean], 0)
				truth[theCentre] = append(truth[theCentre], centre)
				truth[theMedian] = append(truth[theMedian], mid)
			}
		}
	}
	// linearNoise has a mean that differs from 0 but is the same for all cells of
	// a scale; it is used with one scale only.
	return m, pairs, truth
}

// stallCentre is the true centre of the log ratio of two cells with stallNoise: the
// median of the average of two, each a difference of exponentials. The sum of two
// has P(sum > x) = exp(-x/a) (ax + a^2 + 2a^2b/(a+b)) / (a+b)^2 for x > 0.
func stallCentre(s, s0 float64) float64 {
	if s > s0 {
		return -stallCentre(s0, s)
	}
	a, b := s0, s
	lo, hi := 0.0, 10*a
	for range 60 {
		x := (lo + hi) / 2
		if math.Exp(-x/a)*(a*x+a*a+2*a*a*b/(a+b))/(a+b)/(a+b) > 0.5 {
			lo = x
		} else {
			hi = x
		}
	}
	return s - s0 + lo/2
}

// stallMedian is the median log ratio: that of an asymmetric Laplace variable.
func stallMedian(s, s0 float64) float64 {
	if s > s0 {
		return -stallMedian(s0, s)
	}
	return s - s0 - s0*math.Log((s0+s)/(2*s0))
}
