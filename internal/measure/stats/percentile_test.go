package stats

import (
	"math/rand/v2"
	"testing"
)

func TestPercentilesNA(t *testing.T) {
	tests := []struct {
		counts [][]uint64
		p      float64
		want   string
	}{
		{nil, 0.5, "n/a (no I/Os)"},
		{[][]uint64{nil, nil}, 0.5, "n/a (no I/Os)"},
		{[][]uint64{{}}, 0.5, "n/a (only 0 I/Os)"},
		{[][]uint64{{1}}, 0.5, "n/a (only 1 I/O)"},
		{[][]uint64{{2400}, nil}, 0.999, "n/a (only 2,400 I/Os)"},
		{[][]uint64{{9999}, {20000}}, 0.999, "n/a (only 9,999 I/Os)"},
		{[][]uint64{{10000}, {20000}}, 0.999, ""},
		{[][]uint64{{1000}}, 0.99, ""},
		{[][]uint64{{1000}}, 1, "n/a (no percentile)"},
		{[][]uint64{{1000}}, nan, "n/a (no percentile)"},
	}
	for _, tt := range tests {
		got := Percentiles(Latencies{Values: []float64{5, 6}, Counts: tt.counts}, []float64{tt.p}, 1)[0]
		if got.NA != tt.want {
			t.Errorf("p%v of %v = %q, want %q", tt.p, tt.counts, got.NA, tt.want)
		}
		if tt.want == "" && got.Value != 5 {
			t.Errorf("p%v of %v = %v, want 5", tt.p, tt.counts, got.Value)
		}
	}
}

// TestPercentilesMerge: a percentile of merged trials is not the mean of theirs.
func TestPercentilesMerge(t *testing.T) {
	l := Latencies{Values: []float64{1, 10, 100}, Counts: [][]uint64{{1000, 0, 0}, {1000, 0, 0}, {900, 0, 100}}}
	got := Percentiles(l, []float64{0.5, 0.95, 0.99}, 1)
	for i, want := range []float64{1, 1, 100} {
		if got[i].Value != want || !got[i].Range {
			t.Errorf("p%v = %+v, want %v and a range", got[i].P, got[i], want)
		}
	}
	if got[1].Low != 1 || got[1].High != 100 {
		t.Errorf("range of p95 = %v-%v, want 1-100", got[1].Low, got[1].High)
	}
}

// TestPercentilesCoverage: with eight trials, each with its own level, the interval
// of p90 holds the truth in about 87 % of cases, as Percentile.Low says. The trials here
// differ nearly as much as the I/Os within one, which is the hard case.
func TestPercentilesCoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	values := make([]float64, 400)
	for k := range values {
		values[k] = float64(k)
	}
	const runs = 200
	held := 0
	for run := range runs {
		var l Latencies
		l.Values = values
		for range 8 {
			row := make([]uint64, len(values))
			shift := 20 * r.NormFloat64()
			for range 2000 {
				row[int(min(399, max(0, 200+shift+30*r.NormFloat64())))]++
			}
			l.Counts = append(l.Counts, row)
		}
		// Levels and noise together are normal with a standard deviation of 36.06: p90
		// is 200 + 1.2816 x 36.06, less half a bucket.
		p := Percentiles(l, []float64{0.9}, uint64(run))[0]
		if p.Low <= 245.7 && 245.7 <= p.High {
			held++
		}
	}
	if held < runs*83/100 {
		t.Errorf("coverage %d of %d, want about 87 %%", held, runs)
	}
}

// BenchmarkPercentiles is the latency table of a report over 10,000 trials.
func BenchmarkPercentiles(b *testing.B) {
	r := rand.New(rand.NewPCG(4, 4))
	l := Latencies{Values: make([]float64, 400)}
	for range 110 {
		row := make([]uint64, 400)
		for k := range row {
			row[k] = r.Uint64N(1000)
		}
		l.Counts = append(l.Counts, row)
	}
	for b.Loop() {
		for range 90 {
			Percentiles(l, []float64{0.5, 0.99, 0.999}, 1)
		}
	}
}
