package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestSignedRank(t *testing.T) {
	// Figures of R 4.2: wilcox.test(x, exact = TRUE), without ties; those with ties are
	// counted by hand over all signs.
	tests := []struct {
		x    []float64
		want float64
	}{
		{nil, 1},
		{[]float64{0, 0, 0}, 1},
		{[]float64{1}, 1},
		{[]float64{1, 2, 3}, 0.25},
		{[]float64{1, 2, 3, 4, 5, 6}, 0.03125},
		{[]float64{-1, -2, -3, -4, -5, -6}, 0.03125},
		{[]float64{-1, 2, 3, 4, 5, 6}, 0.0625},
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 2.0 / 1024},
		{[]float64{1, 1, 1, -1}, 10.0 / 16},
		{[]float64{0, 1, 2, 3, 4, 5, 6}, 0.03125},
	}
	for _, tt := range tests {
		if got := signedRank(tt.x); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("signedRank(%v) = %v, want %v", tt.x, got, tt.want)
		}
	}
}

// TestSignedRankLarge compares the approximation with the exact count.
func TestSignedRankLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		x := make([]float64, exactRanks)
		for i := range x {
			x[i] = r.NormFloat64() + 0.2
		}
		ranks, twice := doubledRanks(x)
		total := 0
		for _, k := range ranks {
			total += k
		}
		exact := signedRank(x)
		got := approximateRank(ranks, total, min(twice, total-twice))
		if math.Abs(got-exact) > 0.003+0.02*exact {
			t.Errorf("approximation %v, exact %v", got, exact)
		}
	}
}
