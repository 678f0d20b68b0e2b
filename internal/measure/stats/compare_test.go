package stats

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var nan, inf = math.NaN(), math.Inf(1)

// around returns n values near v with a standard deviation of about sd, always
// the same for the same seed.
func around(seed uint64, n int, v, sd float64) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]float64, n)
	for i := range out {
		out[i] = v * math.Exp(sd*r.NormFloat64())
	}
	return out
}

// matrix names its rows a, b, c ...
func matrix(rows ...[]float64) Matrix {
	m := Matrix{Values: rows}
	for i := range rows {
		m.Cells = append(m.Cells, string(rune('a'+i)))
	}
	return m
}

func TestCompareNoData(t *testing.T) {
	good := []float64{9, 9.1, 9.2, 8.9, 9, 9.1}
	tests := []struct {
		cell, base []float64
		want       string
	}{
		{nil, good, "no data: no trials"},
		{[]float64{nan, nan, nan, nan, nan, nan}, good, "no data: all 6 trials failed"},
		{[]float64{nan, 9, nan, 9, nan, 9}, good, "no data: 3 of 6 trials failed"},
		{good, []float64{nan, 9, nan, 9, nan, 9}, "no data: 3 of 6 baseline trials failed"},
		{[]float64{nan, nan, 9, 9, 9, 9}, []float64{9, 9, 9, 9, nan, nan}, "no data: only 2 of 6 blocks have both trials"},
		{[]float64{0, 0, 0, 0, 0, nan}, good, "no data: the rate was zero in every trial"},
		{good, []float64{0, 0, 0, 0, 0, 0}, "no data: the baseline rate was zero in every trial"},
		{[]float64{0, 9, 9, 0, 9, 9}, good, "no data: the rate was zero in 2 of 6 trials"},
		{[]float64{-1, 9, 9, 9, 9, 9}, good, "no data: 1 of 6 trials has no valid rate"},
		{[]float64{inf, -inf, 9, 9, 9, 9}, good, "no data: 2 of 6 trials have no valid rate"},
	}
	for _, tt := range tests {
		c := Compare(matrix(tt.cell, tt.base), []Pair{{Cell: 0, Baseline: 1}}, Options{})[0]
		if got := c.Sentence(); got != tt.want || c.Verdict != NoData {
			t.Errorf("Compare(%v, %v) = %q, %q, want %q", tt.cell, tt.base, got, c.Verdict, tt.want)
		}
		if c.Ratio != 0 || c.P != 1 {
			t.Errorf("Compare(%v, %v): ratio %v, p %v, want 0, 1", tt.cell, tt.base, c.Ratio, c.P)
		}
	}
	for _, p := range []Pair{{Cell: -1}, {Cell: 0, Baseline: 7}} {
		if c := Compare(matrix(good), []Pair{p}, Options{})[0]; c.Verdict != NoData || !strings.Contains(c.Reason, "not in the matrix") {
			t.Errorf("Compare with pair %v = %q", p, c.Sentence())
		}
	}
	if got := Compare(Matrix{}, nil, Options{}); len(got) != 0 {
		t.Errorf("Compare of nothing = %v", got)
	}
}

func TestCompareVerdicts(t *testing.T) {
	base := around(1, 6, 1000, 0.01)
	tests := []struct {
		name      string
		rows      [][]float64
		pairs     []Pair
		want      Verdict
		tentative bool
		noisy     bool
	}{
		{"slower", [][]float64{around(2, 6, 800, 0.01), base}, []Pair{{Cell: 0, Baseline: 1}}, Slower, false, false},
		{"faster", [][]float64{around(2, 6, 3000, 0.01), base}, []Pair{{Cell: 0, Baseline: 1}}, Faster, false, false},
		{"equivalent", [][]float64{around(2, 6, 1000, 0.01), base}, []Pair{{Cell: 0, Baseline: 1}}, Equivalent, false, false},
		{"same numbers", [][]float64{base, base}, []Pair{{Cell: 0, Baseline: 1}}, Equivalent, false, false},
		{"inconclusive", [][]float64{around(2, 6, 930, 0.1), base}, []Pair{{Cell: 0, Baseline: 1}}, Inconclusive, false, false},
		{"three blocks", [][]float64{around(2, 3, 500, 0.01), base}, []Pair{{Cell: 0, Baseline: 1}}, Slower, true, false},
		{"one block", [][]float64{{500}, base}, []Pair{{Cell: 0, Baseline: 1}}, Inconclusive, true, false},
		{"noisy control forbids equivalence", [][]float64{around(2, 6, 1000, 0.005), around(3, 6, 1000, 0.005), around(4, 6, 1100, 0.12)},
			[]Pair{{Cell: 0, Baseline: 1}, {Cell: 2, Baseline: 1, Control: true}}, Inconclusive, false, false},
		{"control that differs", [][]float64{around(2, 6, 700, 0.005), around(3, 6, 1000, 0.005), around(4, 6, 1100, 0.005)},
			[]Pair{{Cell: 0, Baseline: 1}, {Cell: 2, Baseline: 1, Control: true}}, Inconclusive, false, true},
		{"noisy control forbids a find", [][]float64{around(2, 6, 1100, 0.005), around(3, 6, 1000, 0.005), around(4, 6, 1100, 0.12)},
			[]Pair{{Cell: 0, Baseline: 1}, {Cell: 2, Baseline: 1, Control: true}}, Inconclusive, false, false},
		{"beyond a noisy control", [][]float64{around(2, 6, 9000, 0.005), around(3, 6, 1000, 0.005), around(4, 6, 1100, 0.12)},
			[]Pair{{Cell: 0, Baseline: 1}, {Cell: 2, Baseline: 1, Control: true}}, Faster, false, false},
		{"another workload's control", [][]float64{around(2, 6, 1000, 0.005), around(3, 6, 1000, 0.005), around(4, 6, 1100, 0.12), around(5, 6, 1000, 0.1)},
			[]Pair{{Cell: 0, Baseline: 1}, {Cell: 2, Baseline: 3, Control: true}}, Equivalent, false, false},
	}
	for _, tt := range tests {
		c := Compare(matrix(tt.rows...), tt.pairs, Options{})[0]
		if c.Verdict != tt.want || c.Tentative != tt.tentative || c.TooNoisy != tt.noisy {
			t.Errorf("%s: verdict %q, tentative %v, too noisy %v; want %q, %v, %v\n%+v",
				tt.name, c.Verdict, c.Tentative, c.TooNoisy, tt.want, tt.tentative, tt.noisy, c)
		}
		if c.Verdict == Inconclusive && c.More <= 0 {
			t.Errorf("%s: More = %d for an open verdict", tt.name, c.More)
		}
		if c.Blocks > 1 && !(c.Low <= c.PointLow && c.PointLow <= c.Ratio) {
			t.Errorf("%s: not nested below: %v, %v, %v", tt.name, c.Low, c.PointLow, c.Ratio)
		}
		if c.Blocks > 1 && !(c.Ratio <= c.PointHigh && c.PointHigh <= c.High) {
			t.Errorf("%s: not nested above: %v, %v, %v", tt.name, c.Ratio, c.PointHigh, c.High)
		}
	}
}

func TestCompareIsExactForOnePair(t *testing.T) {
	// One pair has no family to learn from: Student's interval, widened by the
	// cost of the Hodges-Lehmann estimate, at the 4 % of a first look. t(5) at 98 % is 2.7565.
	logs := []float64{-2, -1, -0.5, 0.5, 1, 2}
	row := make([]float64, 6)
	for i, l := range logs {
		row[i] = math.Exp(0.01 * l)
	}
	c := Compare(matrix(row, []float64{1, 1, 1, 1, 1, 1}), []Pair{{Cell: 0, Baseline: 1}}, Options{})[0]
	sd := 0.01 * math.Sqrt(2*(4+1+0.25)/5)
	want := 2.7565 * sd / math.Sqrt(6) * widen(6)
	if got := math.Log(c.High); math.Abs(got/want-1) > 0.01 {
		t.Errorf("half width = %v, want %v", got, want)
	}
}

func TestCompareMissingBlocks(t *testing.T) {
	a, b, z := around(1, 8, 1000, 0.01), around(2, 8, 1000, 0.01), around(3, 8, 500, 0.01)
	a[2], z[5], z[0] = nan, nan, nan
	got := Compare(matrix(a, b, z), []Pair{{Cell: 2, Baseline: 1}, {Cell: 2, Baseline: 0}, {Cell: 0, Baseline: 1}}, Options{})
	for i, want := range []int{6, 5, 7} {
		if got[i].Blocks != want || got[i].Asked != 8 {
			t.Errorf("pair %d uses %d of %d blocks, want %d of 8", i, got[i].Blocks, got[i].Asked, want)
		}
	}
	if got[0].Verdict != Slower || got[0].Losses != 6 || got[0].Wins != 0 {
		t.Errorf("pair 0 = %+v, want slower in 6 of 6", got[0])
	}
	if want := "2 blocks of 8 left out: a trial failed"; got[0].Reason != want {
		t.Errorf("reason = %q, want %q", got[0].Reason, want)
	}
}

func TestCompareIsDeterministic(t *testing.T) {
	m := matrix(around(1, 6, 10, .1), around(2, 6, 11, .1), around(3, 6, 12, .1))
	pairs := []Pair{{Cell: 1, Baseline: 0}, {Cell: 2, Baseline: 0}}
	before := Compare(m, pairs, Options{Seed: 3})
	if diff := cmp.Diff(before, Compare(m, pairs, Options{Seed: 3})); diff != "" {
		t.Errorf("Compare differs between two calls:\n%s", diff)
	}
	other := Compare(m, pairs, Options{Seed: 4})
	if r := math.Log(other[0].High) / math.Log(before[0].High); math.Abs(r-1) > 0.1 {
		t.Errorf("another seed moves the interval by a factor of %v", r)
	}
}

// TestCompareScale: a comparison must not depend on the unit of the rate, and must turn
// round when the two cells are exchanged.
func TestCompareScale(t *testing.T) {
	a, b := around(1, 7, 10, .1), around(2, 7, 20, .1)
	big := func(x []float64) []float64 {
		out := make([]float64, len(x))
		for i := range x {
			out[i] = x[i] * 1e9
		}
		return out
	}
	one := Compare(matrix(a, b), []Pair{{Cell: 0, Baseline: 1}}, Options{})[0]
	two := Compare(matrix(big(a), big(b)), []Pair{{Cell: 0, Baseline: 1}}, Options{})[0]
	if math.Abs(one.Low/two.Low-1) > 1e-3 || math.Abs(one.High/two.High-1) > 1e-3 {
		t.Errorf("scaled by 1e9: %v-%v, want %v-%v", two.Low, two.High, one.Low, one.High)
	}
	back := Compare(matrix(a, b), []Pair{{Cell: 1, Baseline: 0}}, Options{})[0]
	if math.Abs(back.Low*one.High-1) > 1e-3 || back.Wins != one.Losses {
		t.Errorf("exchanged: %v-%v, want the inverse of %v-%v", back.Low, back.High, one.Low, one.High)
	}
}

// TestComparisonJSON: hostile numbers must never make JSON fail.
func TestComparisonJSON(t *testing.T) {
	huge := []float64{1e308, 1e-300, 1e308, 1e-300, 5e-324, 1e308}
	one := []float64{1e-308, 1, 1e-308, 1, 1e308, 1e-308}
	m := matrix(huge, one, []float64{nan, inf, 0, -1, 1, 2}, []float64{1}, nil)
	var pairs []Pair
	for i := range 5 {
		for j := range 5 {
			pairs = append(pairs, Pair{Cell: i, Baseline: j, Control: i == j})
		}
	}
	for _, opt := range []Options{{}, {Confidence: nan, Margin: inf, Resamples: -1}} {
		for _, c := range Compare(m, pairs, opt) {
			if _, err := json.Marshal(c); err != nil {
				t.Errorf("marshal %+v: %v", c, err)
			}
			if s := c.Sentence(); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") || strings.HasSuffix(s, ": ") {
				t.Errorf("sentence of %v = %q", c.Pair, s)
			}
		}
	}
}

func TestMoreBlocks(t *testing.T) {
	// From 6 blocks, an interval of +-8 % around 6 % needs to shrink to under 6 %:
	// (8/6)^2 x 6 = 10.7 blocks, 5 more.
	if got := blocksToSettle(span{n: 6, centre: 0.06, half: 0.08, one: 0.07}, 0.05); got != 5 {
		t.Errorf("blocksToSettle = %d, want 5", got)
	}
	if got := blocksToSettle(span{n: 6, centre: 0.05, half: 9, one: 9}, 0.05); got != maxMore {
		t.Errorf("blocksToSettle of a hopeless pair = %d, want %d", got, maxMore)
	}
}

// BenchmarkCompare is the statistics of a report over 10,000 trials.
func BenchmarkCompare(b *testing.B) {
	var m Matrix
	var pairs []Pair
	for c := range 90 {
		m.Cells = append(m.Cells, "")
		m.Values = append(m.Values, around(uint64(c), 110, 1000, 0.05))
		if c%10 > 0 {
			pairs = append(pairs, Pair{Cell: c, Baseline: c / 10 * 10})
		}
	}
	for b.Loop() {
		Compare(m, pairs, Options{})
	}
}
