package report

import (
	"slices"
	"testing"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// TestSeriesHasNoHoles: an interval that is shorter than the others leaves no zero in the picture, and a
// client that ended early makes no fall.
func TestSeriesHasNoHoles(t *testing.T) {
	a := workload.Result{Samples: []load.Sample{{At: time.Second, Ops: 100}, {At: 1100 * time.Millisecond, Ops: 10}, {At: 2 * time.Second, Ops: 90}, {At: 3 * time.Second, Ops: 100}, {At: 4 * time.Second, Ops: 100}}}
	b := workload.Result{Samples: []load.Sample{{At: time.Second, Ops: 100}, {At: 2 * time.Second, Ops: 100}, {At: 3 * time.Second, Ops: 100}}}
	s := seriesOf(&record.Trial{Metric: workload.Metric{Unit: "1/s"}, Results: []workload.Result{a, b}})
	for i, r := range s.rates {
		s.rates[i] = float64(int(r + 0.5))
	}
	if !slices.Equal(s.rates, []float64{200, 200, 200}) || s.step != time.Second {
		t.Errorf("%v every %v, want 200 three times, every second", s.rates, s.step)
	}
}
