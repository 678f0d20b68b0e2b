package stats

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// course makes a run of 10 cells x blocks trials in random order within blocks, whose rate
// changes by the factor end over the run.
func course(r *rand.Rand, blocks int, end float64) (order, cell []int, value []float64) {
	n := 10 * blocks
	for b := range blocks {
		for i, c := range r.Perm(10) {
			at := b*10 + i
			sd := []float64{0.01, 0.15}[c%2]
			order = append(order, at)
			cell = append(cell, c)
			value = append(value, math.Exp(float64(c)+sd*r.NormFloat64()+math.Log(end)*float64(at)/float64(n-1)))
		}
	}
	return order, cell, value
}

func TestDriftNone(t *testing.T) {
	tests := []struct {
		order, cell []int
		value       []float64
	}{
		{nil, nil, nil},
		{[]int{1, 2, 3}, []int{0, 0}, []float64{1, 2}},
		{[]int{1, 2, 3, 4, 5, 6, 7, 8}, []int{1, 2, 3, 4, 5, 6, 7, 8}, []float64{1, 2, 3, 4, 5, 6, 7, 8}},
		{[]int{1, 1, 1, 1, 1, 1, 1, 1, 1}, make([]int, 9), []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{[]int{1, 2, 3, 4, 5, 6, 7, 8, 9}, make([]int, 9), []float64{nan, 0, -1, inf, nan, 0, 0, 1, 2}},
	}
	for _, tt := range tests {
		got := Drift(tt.order, tt.cell, tt.value)
		want := got
		want.Drifting, want.Change, want.Low, want.High = false, 0, 0, 0
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("Drift(%v, %v, %v), want no answer (-want +got):\n%s", tt.order, tt.cell, tt.value, d)
		}
	}
}

func TestDrift(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	order, cell, value := course(r, 10, 0.9)
	got := Drift(order, cell, value)
	if !got.Drifting || got.Low > -0.1 || got.High < -0.1 {
		t.Errorf("Drift of a run that slows by 10 %% = %+v", got)
	}
	if got.Trials != 100 || got.Cells != 10 {
		t.Errorf("%d trials of %d cells, want 100 of 10", got.Trials, got.Cells)
	}
	// The order in which trials are handed over does not matter.
	slices.Reverse(order)
	slices.Reverse(cell)
	slices.Reverse(value)
	if back := Drift(order, cell, value); math.Abs(back.Change-got.Change) > 1e-9 {
		t.Errorf("Drift of the reversed list = %+v, want %+v", back, got)
	}
	if _, err := json.Marshal(Drift([]int{0, 1, 2, 3, 4, 5, 6, 7}, make([]int, 8), []float64{1e-300, 1, 1, 1, 1, 1, 1, 1e300})); err != nil {
		t.Error(err)
	}
}

func TestDriftMonotone(t *testing.T) {
	var order, cell []int
	var value []float64
	for i := range 60 {
		order, cell = append(order, i), append(cell, i%2)
		value = append(value, 100-float64(i))
	}
	if got := Drift(order, cell, value); !got.Monotone || !got.Drifting {
		t.Errorf("Drift of a steady fall = %+v", got)
	}
	for i := range value {
		value[i] = 100 - float64(i%10)
	}
	if got := Drift(order, cell, value); got.Monotone {
		t.Errorf("Drift of a saw = %+v", got)
	}
}

// TestDriftCoverage: in runs without a drift one in twenty is flagged.
func TestDriftCoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	const runs = 1000
	flagged := 0
	for range runs {
		if Drift(course(r, 6, 1)).Drifting {
			flagged++
		}
	}
	if flagged > 70 {
		t.Errorf("%d of %d steady runs are flagged, want about 50", flagged, runs)
	}
}
