package stats

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSummarize(t *testing.T) {
	tests := []struct {
		in   []float64
		want Summary
	}{
		{nil, Summary{}},
		{[]float64{nan, inf}, Summary{}},
		{[]float64{7}, Summary{N: 1, Median: 7, Low: 7, High: 7, Range: true}},
		{[]float64{3, 1, 2, 9, 4}, Summary{N: 5, Median: 3, MAD: 1, Low: 1, High: 9, Range: true}},
		// (min, max) of six has 1 - 2/64.
		{[]float64{6, 5, 4, 3, 2, 1, nan}, Summary{N: 6, Median: 3.5, MAD: 1.5, Low: 1, High: 6, Confidence: 0.96875}},
		// (2nd, 9th) of ten has 1 - 22/1024.
		{[]float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, Summary{N: 10, Median: 5.5, MAD: 2.5, Low: 2, High: 9, Confidence: 1 - 22.0/1024}},
	}
	for _, tt := range tests {
		before := slices.Clone(tt.in)
		got := Summarize(tt.in, 0)
		if diff := cmp.Diff(tt.want, got, cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })); diff != "" {
			t.Errorf("Summarize(%v) (-want +got):\n%s", tt.in, diff)
		}
		for i := range before {
			if before[i] == before[i] && before[i] != tt.in[i] {
				t.Errorf("Summarize changed its input to %v", tt.in)
			}
		}
	}
}

func TestOutliers(t *testing.T) {
	tests := []struct {
		in   []float64
		want []int
	}{
		{nil, nil},
		{[]float64{1, 1, 100}, nil},
		{[]float64{nan, 0, -1, inf}, nil},
		{[]float64{100, 101, 99, 102, 98, 50}, []int{5}},
		{[]float64{300, 101, 99, 102, 98, nan, 20, 100, 99}, []int{0, 6}},
		// All equal but one, and that by 1 %: no outlier.
		{[]float64{100, 100, 100, 100, 100, 101}, nil},
		{[]float64{100, 100, 100, 100, 100, 110}, []int{5}},
		{[]float64{100, 120, 80, 110, 90, 60}, nil},
	}
	for _, tt := range tests {
		if got := Outliers(tt.in); !slices.Equal(got, tt.want) {
			t.Errorf("Outliers(%v) = %v, want %v", tt.in, got, tt.want)
		}
	}
}
