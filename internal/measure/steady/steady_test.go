package steady

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func constant(n int, v float64) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = v
	}
	return xs
}

// noisy puts sd (a share) of noise on xs.
func noisy(seed uint64, sd float64, xs ...[]float64) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	var out []float64
	for _, part := range xs {
		for _, x := range part {
			out = append(out, x*(1+sd*r.NormFloat64()))
		}
	}
	return out
}

func TestJudgeAgainstFiguresByHand(t *testing.T) {
	for _, v := range []struct {
		xs           []float64
		rng, slope   float64
		steady       bool
		whatIsProved string
	}{
		{[]float64{100, 100, 100, 100, 100}, 0, 0, true, "a constant"},
		{[]float64{90, 110, 100, 90, 110}, 0.2, 0.08, true, "range exactly 20 %: (2*10-10-... )/10 = 2 a round"},
		{[]float64{89, 111, 100, 89, 111}, 0.22, 0.088, false, "range 22 %"},
		{[]float64{95, 97.5, 100, 102.5, 105}, 0.1, 0.1, true, "a line that rises by exactly 10 %"},
		{[]float64{94, 97, 100, 103, 106}, 0.12, 0.12, false, "a line that rises by 12 %"},
		{[]float64{106, 103, 100, 97, 94}, 0.12, -0.12, false, "and one that falls"},
		{[]float64{0, 0, 0, 0, 0}, 0, 0, false, "nothing at all"},
		{[]float64{math.NaN(), 1, 1, 1, 1}, 0, 0, false, "no number"},
		{nil, 0, 0, false, "no samples"},
	} {
		j := Judge(v.xs)
		if math.Abs(j.Range-v.rng) > 1e-9 || math.Abs(j.Slope-v.slope) > 1e-9 || j.Steady() != v.steady {
			t.Errorf("%s: Judge(%v) = %+v, steady %v; want range %v, slope %v, %v", v.whatIsProved, v.xs, j, j.Steady(), v.rng, v.slope, v.steady)
		}
	}
}

func TestFindTheFirstSteadyWindow(t *testing.T) {
	// An SSD from fresh to steady: falls from 400 to 100, then stays.
	var fall []float64
	for i := range 20 {
		fall = append(fall, 400-15*float64(i))
	}
	thr := append(fall, constant(10, 100)...)
	lat := make([]float64, len(thr))
	for i := range lat {
		lat[i] = 3200 / thr[i]
	}
	f := Find(Series{Round: time.Minute, Throughput: thr, Latency: lat})
	if !f.Steady || f.From < 18 || f.From > 20 {
		t.Errorf("Find = %+v, want steady from round 18 to 20 on", f)
	}
	if f.To != f.From+5 || f.After != time.Duration(f.From)*time.Minute {
		t.Errorf("Find = %+v, want five rounds, after From minutes", f)
	}
	// The throughput alone is steady from the start, the latency only later.
	lat = append([]float64{50, 40, 30, 20}, constant(8, 10)...)
	f = Find(Series{Round: time.Second, Throughput: constant(12, 7), Latency: lat})
	if !f.Steady || f.From != 4 || f.After != 4*time.Second {
		t.Errorf("Find = %+v, want steady from 4 on: the latency counts too", f)
	}
	if f = Find(Series{Round: time.Second, Throughput: constant(12, 7)}); !f.Steady || f.From != 0 {
		t.Errorf("Find without latencies = %+v", f)
	}
	// One that never gets there says so, with its last window.
	var up []float64
	for i := range 30 {
		up = append(up, math.Pow(1.1, float64(i)))
	}
	if f = Find(Series{Round: time.Second, Throughput: up}); f.Steady || f.From != 25 || f.Throughput.Slope < 0.3 {
		t.Errorf("Find of a growth of 10 %% a round = %+v", f)
	}
	if f = Find(Series{Throughput: constant(4, 1)}); f.Steady {
		t.Errorf("four rounds are steady: %+v", f)
	}
}

func TestStepsOfKnownTruth(t *testing.T) {
	for _, v := range []struct {
		name string
		xs   []float64
		want []Step
	}{
		{"burst credits that end", noisy(1, 0.05, constant(120, 3000), constant(180, 100)), []Step{{120, 3000, 100}}},
		{"a fall of 35 %", noisy(2, 0.05, constant(200, 1000), constant(100, 650)), []Step{{200, 1000, 650}}},
		{"a fall of 20 % is none", noisy(3, 0.05, constant(200, 1000), constant(100, 800)), nil},
		{"a burst in the middle", noisy(4, 0.05, constant(100, 100), constant(30, 300), constant(100, 100)), []Step{{100, 100, 300}, {130, 300, 100}}},
		{"a short burst in a long run", noisy(8, 0.05, constant(1000, 100), constant(30, 300), constant(2000, 100)), []Step{{1000, 100, 300}, {1030, 300, 100}}},
		{"three levels", noisy(5, 0.03, constant(60, 100), constant(60, 200), constant(60, 400)), []Step{{60, 100, 200}, {120, 200, 400}}},
		{"noise of 30 %", noisy(6, 0.3, constant(600, 100)), nil},
		{"noise of 10 %", noisy(7, 0.1, constant(3000, 100)), nil},
		{"one sample that is low", append(append(constant(50, 100), 1), constant(50, 100)...), nil},
		{"a constant", constant(500, 7), nil},
		{"too short", []float64{9, 9, 9, 1, 1, 1}, nil},
		{"stopped", append(constant(50, 100), constant(50, 0)...), []Step{{50, 100, 0}}},
		{"no numbers", append(constant(50, 100), math.Inf(1)), nil},
		{"empty", nil, nil},
	} {
		got := Steps(v.xs)
		if len(got) != len(v.want) {
			t.Errorf("%s: Steps = %+v, want %+v", v.name, got, v.want)
			continue
		}
		for i, g := range got {
			w := v.want[i]
			if d := g.At - w.At; d > 1 || d < -1 {
				t.Errorf("%s: step %d is at %d, want %d", v.name, i, g.At, w.At)
			}
			if math.Abs(g.Before-w.Before) > 0.05*w.Before || math.Abs(g.After-w.After) > 0.05*w.After {
				t.Errorf("%s: step %d is from %v to %v, want %v to %v", v.name, i, g.Before, g.After, w.Before, w.After)
			}
		}
	}
}

// Steps must find no step in noise alone: 1,000 series of 600 samples with a spread of 15 %.
func TestStepsFindsNoneInNoise(t *testing.T) {
	for seed := range uint64(1000) {
		if s := Steps(noisy(seed, 0.15, constant(600, 100))); s != nil {
			t.Fatalf("seed %d: %+v", seed, s)
		}
	}
}

// The figures are those that fio 3.33 printed for samples of 1001 and 1000.
func TestCriterionIsFios(t *testing.T) {
	xs := []float64{1001, 1000}
	if f, ok := (Criterion{Metric: "iops", Slope: true, Limit: 50, Percent: true}).Judge(xs); math.Abs(f+0.1) > 1e-3 || !ok {
		t.Errorf("slope = %v, %v", f, ok)
	}
	if f, ok := (Criterion{Metric: "iops", Limit: 0.4}).Judge(xs); f != 0.5 || ok {
		t.Errorf("deviation = %v, %v", f, ok)
	}
	if _, ok := (Criterion{Limit: 50, Percent: true}).Judge([]float64{0, 0}); ok {
		t.Error("nothing is steady")
	}
	if _, ok := (Criterion{Limit: 50}).Judge(nil); ok {
		t.Error("no samples are steady")
	}
}
