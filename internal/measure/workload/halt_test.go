package workload

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestHalt: of halts only what lies in the window counts.
func TestHalt(t *testing.T) {
	halts := []Halt{{HaltSignal, 5, 15}, {HaltAll, 12, 13}, {HaltSignal, 18, 30}, {HaltFreezer, 1, 10}, {HaltTracer, 20, 25}}
	r := Result{Begun: 10, Elapsed: 10}
	r.Halt(halts)
	if d := cmp.Diff([]Halted{{HaltSignal, 2, 7}, {HaltAll, 1, 1}}, r.Halted); d != "" {
		t.Errorf("Halted (-want +got):\n%s", d)
	}
	unknown := Result{Elapsed: 10}
	unknown.Halt(halts)
	if unknown.Halted != nil {
		t.Errorf("a window of which it isn't known when it began: %v", unknown.Halted)
	}
}

// TestStarved: threads weigh as much as they ran and wanted to; those of another moment's number don't count.
func TestStarved(t *testing.T) {
	const s = time.Second
	a := map[int]scheduled{1: {s, s}, 2: {s, 0}, 3: {9 * s, 9 * s}}
	for name, x := range map[string]struct {
		b    map[int]scheduled
		want float64
	}{
		"not known": {nil, -1},
		"nothing":   {a, 0},
		"one":       {map[int]scheduled{1: {2 * s, 2 * s}}, 0.5},
		"two":       {map[int]scheduled{1: {2 * s, 2 * s}, 2: {3 * s, 0}}, 0.25},
		"a new one": {map[int]scheduled{7: {s, s}}, 0.5},
		"reused":    {map[int]scheduled{3: {s, s}, 1: {2 * s, 2 * s}}, 0.5},
	} {
		if got := starved(a, x.b, 2*s); math.Abs(got-x.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, x.want)
		}
	}
}
