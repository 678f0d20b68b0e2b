package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// A method gives every pair a centre and a half width.
type method struct {
	name string
	run  func(ps []paired, r *rand.Rand) (centre, half []float64)
	// median: the estimand is the median, not the mean, of the log ratio.
	median bool
}

const triedResamples = 2000

func tq(d, alpha float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: d}.Quantile(1 - alpha/2)
}

func means(ps []paired) []float64 {
	out := make([]float64, len(ps))
	for i := range ps {
		out[i] = ps[i].mean
	}
	return out
}

func sidak(n int) float64 { return 1 - math.Pow(0.95, 1/float64(n)) }

// blockMax is the 95 % point of the largest deviation of resampled blocks.
func blockMax(ps []paired, r *rand.Rand, studentise, flip bool) float64 {
	n := len(ps[0].resid)
	out := make([]float64, triedResamples)
	w := make([]float64, n)
	for k := range out {
		for b := range w {
			w[b] = 0
		}
		for b := range n {
			if flip {
				w[b] = float64(2*r.IntN(2) - 1)
			} else {
				w[r.IntN(n)]++
			}
		}
		for i := range ps {
			var s, ss float64
			for b, x := range ps[i].resid {
				s += w[b] * x
				if flip {
					ss += x * x
				} else {
					ss += w[b] * x * x
				}
			}
			m := s / float64(n)
			sd := ps[i].spread
			if studentise {
				sd = math.Sqrt(max(1e-30, ss/float64(n)-m*m) * float64(n) / float64(n-1))
			}
			out[k] = max(out[k], math.Abs(m)/sd*math.Sqrt(float64(n)))
		}
	}
	slices.Sort(out)
	return out[int(0.95*triedResamples)]
}

func halves(ps []paired, c float64) []float64 {
	out := make([]float64, len(ps))
	for i := range ps {
		out[i] = c * ps[i].spread / math.Sqrt(float64(ps[i].n()))
	}
	return out
}

// limma is the moderated variance of Smyth (2004).
func limma(ps []paired) (s2 []float64, df float64) {
	d := float64(ps[0].n() - 1)
	var e []float64
	for i := range ps {
		e = append(e, math.Log(ps[i].spread*ps[i].spread)-digamma(d/2)+math.Log(d/2))
	}
	if len(ps) < 3 {
		for i := range ps {
			s2 = append(s2, ps[i].spread*ps[i].spread)
		}
		return s2, d
	}
	var m, v float64
	for _, x := range e {
		m += x / float64(len(e))
	}
	for _, x := range e {
		v += (x - m) * (x - m) / float64(len(e)-1)
	}
	t := v - trigamma(d/2)
	d0, s0 := 200.0, math.Exp(m)
	if t > 0 {
		lo, hi := 0.01, 400.0
		for range 60 {
			mid := math.Sqrt(lo * hi)
			if trigamma(mid/2) > t {
				lo = mid
			} else {
				hi = mid
			}
		}
		d0 = lo
		s0 = math.Exp(m + digamma(d0/2) - math.Log(d0/2))
	}
	for i := range ps {
		s2 = append(s2, (d0*s0+d*ps[i].spread*ps[i].spread)/(d0+d))
	}
	return s2, d + d0
}

func digamma(x float64) float64 {
	var r float64
	for x < 8 {
		r -= 1 / x
		x++
	}
	f := 1 / (x * x)
	return r + math.Log(x) - 0.5/x - f*(1.0/12-f*(1.0/120-f/252))
}

func trigamma(x float64) float64 {
	var r float64
	for x < 8 {
		r += 1 / (x * x)
		x++
	}
	f := 1 / (x * x)
	return r + 1/x + f/2 + f/x*(1.0/6-f*(1.0/30-f/42))
}

func between(share, limit float64) func(ps []paired, r *rand.Rand) ([]float64, []float64) {
	return func(ps []paired, r *rand.Rand) ([]float64, []float64) {
		a := math.Pow(sidak(len(ps)), 1-share) * math.Pow(pointwiseAlphaCap(ps, 0.95, triedResamples, r, limit), share)
		half := make([]float64, len(ps))
		for i, b := range beliefsTuned(ps, 1, 2) {
			half[i] = b.halfWidth(ps[i].n(), a)
		}
		return means(ps), half
	}
}

func mixture(strangers float64, rounds int, boot bool) func(ps []paired, r *rand.Rand) ([]float64, []float64) {
	return func(ps []paired, r *rand.Rand) ([]float64, []float64) {
		a := sidak(len(ps))
		if boot {
			a = pointwiseAlpha(ps, 0.95, triedResamples, r)
		}
		half := make([]float64, len(ps))
		for i, b := range beliefsTuned(ps, strangers, rounds) {
			half[i] = b.halfWidth(ps[i].n(), a)
		}
		return means(ps), half
	}
}

var methods = []method{
	{"naive: block bootstrap, max", func(ps []paired, r *rand.Rand) ([]float64, []float64) {
		return means(ps), halves(ps, blockMax(ps, r, false, false))
	}, false},
	{"bootstrap-t, max", func(ps []paired, r *rand.Rand) ([]float64, []float64) {
		return means(ps), halves(ps, blockMax(ps, r, true, false))
	}, false},
	{"sign flips, max-t", func(ps []paired, r *rand.Rand) ([]float64, []float64) {
		return means(ps), halves(ps, blockMax(ps, r, true, true))
	}, false},
	{"block bootstrap, max, z to t", func(ps []paired, r *rand.Rand) ([]float64, []float64) {
		d := float64(ps[0].n() - 1)
		z := blockMax(ps, r, false, false) * math.Sqrt((d+1)/d)
		return means(ps), halves(ps, tq(d, math.Erfc(z/math.Sqrt2)))
	}, false},
	{"Student, Sidak", func(ps []paired, r *rand.Rand) ([]float64, []float64) {
		return means(ps), halves(ps, tq(float64(ps[0].n()-1), sidak(len(ps))))
	}, false},
	{"one pooled variance, Sidak", func(ps []paired, r *rand.Rand) ([]float64, []float64) {
		var v float64
		for i := range ps {
			v += ps[i].spread * ps[i].spread / float64(len(ps))
		}
		d := float64(len(ps) * (ps[0].n() - 1))
		half := make([]float64, len(ps))
		for i := range ps {
			half[i] = tq(d, sidak(len(ps))) * math.Sqrt(v/float64(ps[0].n()))
		}
		return means(ps), half
	}, false},
	{"Smyth's moderated t, Sidak", func(ps []paired, r *rand.Rand) ([]float64, []float64) {
		s2, df := limma(ps)
		half := make([]float64, len(ps))
		for i := range ps {
			half[i] = tq(df, sidak(len(ps))) * math.Sqrt(s2[i]/float64(ps[i].n()))
		}
		return means(ps), half
	}, false},
	{"mixture 1/0, Sidak", mixture(1, 0, false), false},
	{"mixture 1/0, bootstrap", mixture(1, 0, true), false},
	{"mixture 1/1, bootstrap", mixture(1, 1, true), false},
	{"HL 1/0", viaHL(mixture(1, 0, true)), true},
	{"HL 1/1", viaHL(mixture(1, 1, true)), true},
	{"HL 1/2", viaHL(mixture(1, 2, true)), true},
	{"HL 1/5", viaHL(mixture(1, 5, true)), true},
	{"HL 1/2 Sidak", viaHL(mixture(1, 2, false)), true},
	{"xHL 1/2 half", viaHL(between(.5, 1)), true},
	{"xHL 1/2 cap .8", viaHL(between(1, .8)), true},
	{"xHL 1/2 cap .5", viaHL(between(1, .5)), true},
	{"HL Student, Sidak", viaHL(student), true},
}

func student(ps []paired, r *rand.Rand) ([]float64, []float64) {
	return means(ps), halves(ps, tq(float64(ps[0].n()-1), sidak(len(ps))))
}

func viaHL(run func(ps []paired, r *rand.Rand) ([]float64, []float64)) func(ps []paired, r *rand.Rand) ([]float64, []float64) {
	return func(ps []paired, r *rand.Rand) ([]float64, []float64) {
		c, h := run(ps, r)
		for i := range c {
			c[i] = ps[i].centre
			h[i] *= widen(ps[i].n())
		}
		return c, h
	}
}
