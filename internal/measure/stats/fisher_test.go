package stats

import (
	"math"
	"testing"
)

// TestFisherMore: the lady who tastes tea (Fisher 1935), and figures of R's fisher.test(alternative = "greater").
func TestFisherMore(t *testing.T) {
	for _, row := range []struct {
		k, n, baseK, baseN int
		want               float64
	}{
		{3, 4, 1, 4, 0.2428571},
		{4, 4, 0, 4, 1.0 / 70},
		{6, 20, 0, 40, 0.0007742},
		{0, 20, 0, 40, 1},
		{1, 20, 0, 40, 1.0 / 3},
		{20, 20, 40, 40, 1},
	} {
		if got := FisherMore(row.k, row.n, row.baseK, row.baseN); math.Abs(got/row.want-1) > 1e-3 {
			t.Errorf("%d of %d against %d of %d: p = %v, want %v", row.k, row.n, row.baseK, row.baseN, got, row.want)
		}
	}
}
