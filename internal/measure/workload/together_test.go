package workload

import (
	"testing"
	"time"

	"plimsoll/load"
)

func TestTogether(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	client := func(start, elapsed time.Duration) Result {
		return Result{Start: at.Add(start), Elapsed: elapsed, Classes: []load.Class{{Name: "append", Ops: 100, Bytes: 800}}}
	}
	old := client(0, time.Second)
	old.Start = time.Time{}
	for _, tt := range []struct {
		name        string
		results     []Result
		ops, bytes  float64
		span, apart time.Duration
	}{
		{"nobody", nil, 0, 0, 0, 0},
		{"one", []Result{client(0, time.Second)}, 100, 800, time.Second, 0},
		{"together", []Result{client(0, time.Second), client(0, time.Second)}, 200, 1600, time.Second, 0},
		// The sum of the rates would be 125/s.
		{"one slow", []Result{client(0, time.Second), client(0, 4*time.Second)}, 50, 400, 4 * time.Second, 3 * time.Second},
		{"one late", []Result{client(3*time.Second, time.Second), client(0, time.Second)}, 50, 400, 4 * time.Second, 3 * time.Second},
		{"starts not known", []Result{old, old}, 200, 1600, 0, 0},
		{"nothing", []Result{{Start: at}, {Start: at}}, 0, 0, 0, 0},
	} {
		if got := Together(tt.results, Metric{Unit: "1/s"}); got != tt.ops {
			t.Errorf("%s: %v operations a second, want %v", tt.name, got, tt.ops)
		}
		if got := Together(tt.results, Metric{Unit: "B/s"}); got != tt.bytes {
			t.Errorf("%s: %v bytes a second, want %v", tt.name, got, tt.bytes)
		}
		if span, apart, _ := Span(tt.results); span != tt.span || apart != tt.apart {
			t.Errorf("%s: Span() = %v, %v, want %v, %v", tt.name, span, apart, tt.span, tt.apart)
		}
	}
}
