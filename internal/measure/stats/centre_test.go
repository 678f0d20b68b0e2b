package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestCentre(t *testing.T) {
	tests := []struct {
		x    []float64
		want float64
	}{
		{nil, 0},
		{[]float64{3}, 3},
		{[]float64{3, 5}, 4},
		// Averages of 1, 2, 9: 1 1.5 2 5 5.5 9.
		{[]float64{9, 1, 2}, 3.5},
		// One wild block moves it by little.
		{[]float64{1, 1, 1, 1, 1, 100}, 1},
	}
	for _, tt := range tests {
		if got := centre(tt.x); got != tt.want {
			t.Errorf("centre(%v) = %v, want %v", tt.x, got, tt.want)
		}
	}
}

// TestCentreLarge compares the bisection with the table of averages.
func TestCentreLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 5, 33, walshDirect} {
		x := make([]float64, n)
		for i := range x {
			x[i] = math.Round(10*r.NormFloat64()) / 4
		}
		want := centre(x)
		sorted := finite(x)
		slices.Sort(sorted)
		half := n * (n + 1) / 2
		got := (walshRank(sorted, (half+1)/2) + walshRank(sorted, half/2+1)) / 2
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("n = %d: bisection %v, table %v", n, got, want)
		}
	}
	if got := centre(make([]float64, 1000)); got != 0 {
		t.Errorf("centre of zeros = %v", got)
	}
}

// TestCentreCost repeats the simulation behind centreCost.
func TestCentreCost(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for n := 3; n < len(centreCost); n++ {
		var mean2, centre2 float64
		x := make([]float64, n)
		for range 20_000 {
			for i := range x {
				x[i] = r.NormFloat64()
			}
			m, _ := moments(x)
			c := centre(x)
			mean2 += m * m
			centre2 += c * c
		}
		if got := math.Sqrt(centre2 / mean2); math.Abs(got-centreCost[n]) > 0.01 {
			t.Errorf("cost with %d blocks = %.4f, want %v", n, got, centreCost[n])
		}
	}
}
