package workload

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"plimsoll/load"
)

func TestCourse(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const s, ms = time.Second, time.Millisecond
	// client has samples that end at the given times, each of 100 operations a second.
	client := func(start time.Duration, ends ...time.Duration) Result {
		r, last := Result{Start: at.Add(start)}, time.Duration(0)
		for _, e := range ends {
			ops := int64(100 * (e - last) / s)
			r.Samples = append(r.Samples, load.Sample{At: e, Ops: ops, Bytes: 8 * ops})
			last = e
		}
		return r
	}
	stalled := client(0, s, 2*s, 3*s)
	stalled.Samples[1].Ops, stalled.Samples[1].Bytes = 0, 0
	odd := client(0, s, 2*s)
	odd.Samples = append(odd.Samples, load.Sample{At: s, Ops: 7})
	unknown := client(0, s, 2*s)
	unknown.Start = time.Time{}
	for _, tt := range []struct {
		name    string
		results []Result
		step    time.Duration
		rates   []float64
	}{
		{"nobody", nil, 0, nil},
		{"no samples", []Result{{}}, 0, nil},
		{"at no time", []Result{{Samples: []load.Sample{{At: 0, Ops: 5}}}}, 0, nil},
		{"damaged", []Result{odd}, s, []float64{100}}, // Its last sample ends before the others.
		{"one without samples", []Result{client(0, s), {Start: at}}, 0, nil},
		{"after each other", []Result{client(0, s), client(2*s, s)}, 0, nil},
		{"one", []Result{client(0, s, 2*s, 3*s)}, s, []float64{100, 100, 100}},
		{"a second of nothing", []Result{stalled}, s, []float64{100, 0, 100}},
		// Samples skipped for their length must leave no hole, nor move those after them.
		{"a short interval", []Result{client(0, s, 1100*ms, 2*s, 3*s)}, s, []float64{100, 100, 100}},
		{"a long interval", []Result{client(0, s, 3*s, 4*s, 5*s)}, s, []float64{100, 100, 100, 100, 100}},
		{"a short rest", []Result{client(0, s, 2*s, 3*s, 3400*ms)}, s, []float64{100, 100, 100}},
		{"a rest", []Result{client(0, s, 2*s, 3*s, 3600*ms)}, s, []float64{100, 100, 100, 100}},
		{"two", []Result{client(0, s, 2*s), client(0, s, 2*s)}, s, []float64{200, 200}},
		{"two of other lengths", []Result{client(0, s, 2*s, 3*s), client(0, 1500*ms, 3*s)}, s, []float64{200, 200, 200}},
		{"one late", []Result{client(0, s, 2*s, 3*s), client(s, s, 2*s)}, s, []float64{200, 200}},
		{"one early done", []Result{client(0, s, 2*s, 3*s, 4*s), client(0, s, 2*s)}, s, []float64{200, 200}},
		{"starts not known", []Result{unknown, unknown}, s, []float64{200, 200}},
	} {
		got := CourseOf(tt.results, "1/s")
		if got.Step != tt.step || !cmp.Equal(got.Rates, tt.rates, cmpopts.EquateEmpty(), cmpopts.EquateApprox(1e-9, 1e-6)) {
			t.Errorf("%s: %+v, want %v every %v", tt.name, got, tt.rates, tt.step)
		}
		for i, b := range CourseOf(tt.results, "B/s").Rates {
			if d := b - 8*tt.rates[i]; d > 1e-6 || d < -1e-6 {
				t.Errorf("%s: %v bytes a second at %d, want %v", tt.name, b, i, 8*tt.rates[i])
			}
		}
	}
	jumped := client(0, time.Millisecond, 2*time.Millisecond, 1<<62)
	if n := len(CourseOf([]Result{jumped}, "1/s").Rates); n > 1000 {
		t.Errorf("a clock that jumped makes %d intervals", n)
	}
	CourseOf([]Result{{Samples: []load.Sample{{At: -1}, {At: -1}}}}, "1/s")
}

// TestLatencyOf: the mean of all operations in an interval, not that of the clients' means.
func TestLatencyOf(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	busy := Result{Samples: []load.Sample{{At: s, Ops: 300, Lat: 300 * ms}, {At: 2 * s, Ops: 300, Lat: 3000 * ms}, {At: 3 * s}}}
	calm := Result{Samples: []load.Sample{{At: s, Ops: 100, Lat: 500 * ms}, {At: 2 * s, Ops: 100, Lat: 500 * ms}, {At: 3 * s}}}
	c := LatencyOf([]Result{busy, calm})
	want := []float64{0.002, 0.00875, 0}
	if diff := cmp.Diff(want, c.Rates, cmpopts.EquateApprox(0, 1e-9)); diff != "" || c.Step != s {
		t.Errorf("a course of %v: %s", c.Step, diff)
	}
}
