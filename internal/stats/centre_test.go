package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestCentreCost(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{3, 4, 5, 6, 7, 8, 9, 10, 12, 20} {
		var a, b float64
		x := make([]float64, n)
		for range 400000 {
			for i := range x {
				x[i] = r.NormFloat64()
			}
			m, _ := moments(x)
			c := centre(x)
			a += m * m
			b += c * c
		}
		t.Log(n, math.Sqrt(b/a))
	}
}
