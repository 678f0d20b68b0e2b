package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// shortReports is the number of simulated reports a world. The standard error of a
// coverage of 0.95 is then 2 %.
const shortReports = 120

// TestCoverage simulates reports in which every cell is equal and asks Compare itself: all
// intervals of a report must hold together in 95 % of reports, and a report
// must contain a false find in no more than 5 %. It asserts what the simulation can
// tell, three standard errors off 0.93 and 0.05, for a few worlds; TestCampaign runs all.
func TestCoverage(t *testing.T) {
	tests := []struct {
		world  string
		family family
		blocks int
		// most is the widest the median half width may be, in percent: an interval
		// from 0 to infinity would cover everything.
		most float64
	}{
		{"lognormal", family{1, 1}, 6, 9},
		{"memory and disk", family{1, 1}, 10, 14},
		{"lognormal", family{1, 10}, 6, 11},
		{"noisy baseline", family{1, 10}, 6, 25},
		{"memory and disk, t3", family{1, 10}, 10, 19},
		{"lognormal", family{8, 10}, 6, 15},
		{"memory and disk", family{8, 10}, 6, 35},
		{"graded", family{8, 10}, 6, 19},
		{"outlier block", family{8, 10}, 10, 15},
		{"graded, t3", family{1, 10}, 20, 5},
	}
	for i, tt := range tests {
		w := find(t, tt.world)
		r := rand.New(rand.NewPCG(11, uint64(i)))
		held, finds := 0, 0
		var widths []float64
		for range shortReports {
			m, pairs, truth := w.draw(r, tt.family, tt.blocks)
			all, none := true, true
			for k, c := range Compare(m, pairs, Options{Resamples: 1000}) {
				want := math.Exp(truth[theCentre][k])
				all = all && c.Low <= want && want <= c.High
				none = none && c.Verdict != Faster && c.Verdict != Slower
				widths = append(widths, 50*math.Log(c.High/c.Low))
			}
			if all {
				held++
			}
			if !none {
				finds++
			}
		}
		name := tt.world
		covered, found := float64(held)/shortReports, float64(finds)/shortReports
		t.Logf("%d pairs, %d blocks, %s: coverage %.3f, false finds %.3f, half width %.1f %%",
			tt.family.workloads*tt.family.cells, tt.blocks, name, covered, found, Median(widths))
		if low := 0.93 - 3*math.Sqrt(0.93*0.07/shortReports); covered < low {
			t.Errorf("%s: coverage %.3f, want at least %.3f", name, covered, low)
		}
		if high := 0.05 + 3*math.Sqrt(0.05*0.95/shortReports); found > high {
			t.Errorf("%s: false finds in %.3f of reports, want at most %.3f", name, found, high)
		}
		if got := Median(widths); got > tt.most {
			t.Errorf("%s: median half width %.1f %%, want at most %.1f %%", name, got, tt.most)
		}
	}
}

// find returns the world of that name.
func find(t *testing.T, name string) world {
	t.Helper()
	for _, w := range worlds {
		if w.name == name {
			return w
		}
	}
	t.Fatalf("no world %q", name)
	return world{}
}

// TestNaiveFails keeps the reason for all of this true: if the percentile bootstrap covered as
// it should, this package could be a quarter of its size.
func TestNaiveFails(t *testing.T) {
	o := try(methods[0], find(t, "lognormal"), 1, family{8, 10}, 6, 20)
	if o.covered > 0.5 {
		t.Errorf("%s covers %.2f of reports", methods[0].name, o.covered)
	}
}

// TestPower: the intervals find what is there. 80 comparisons, six blocks, 2 % noise: 20 %
// slower must be found nearly always, and cells that are equal be proved so with ten.
func TestPower(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	w := world{noise: normalNoise, scale: func(*rand.Rand, int, int) float64 { return 0.02 }}
	slower, equal, n := 0, 0, 0
	for range 10 {
		m, pairs, _ := w.draw(r, family{8, 10}, 6)
		for _, p := range pairs {
			for b := range m.Values[p.Cell] {
				m.Values[p.Cell][b] *= 0.8
			}
		}
		for _, c := range Compare(m, pairs, Options{Resamples: 1000}) {
			n++
			if c.Verdict == Slower {
				slower++
			}
		}
		m, pairs, _ = w.draw(r, family{8, 10}, 10)
		for _, c := range Compare(m, pairs, Options{Resamples: 1000}) {
			if c.Verdict == Equivalent {
				equal++
			}
		}
	}
	t.Logf("found slower: %d of %d; proved equal: %d of %d", slower, n, equal, n)
	if slower < n*95/100 {
		t.Errorf("20 %% slower was found in %d of %d pairs", slower, n)
	}
	if equal < n*60/100 {
		t.Errorf("equality was proved in %d of %d pairs", equal, n)
	}
}
