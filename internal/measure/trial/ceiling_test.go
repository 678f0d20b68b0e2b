package trial

import (
	"testing"
	"time"

	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// TestNullSpeed: other work on the machine is no limit of the generator's.
func TestNullSpeed(t *testing.T) {
	for _, x := range []struct {
		name            string
		elapsed, system time.Duration
		want            float64
	}{
		{"alone", 100 * time.Millisecond, 100 * time.Millisecond, 10e6},
		{"with a tenth of a CPU", 100 * time.Millisecond, 10 * time.Millisecond, 100e6},
		{"with the program's other threads", 100 * time.Millisecond, 110 * time.Millisecond, 10e6},
		{"CPU time unknown", 100 * time.Millisecond, 0, 10e6},
		{"nothing", 0, 0, 0},
	} {
		r := &workload.Result{Elapsed: x.elapsed, Usage: load.Usage{System: x.system}, Classes: []load.Class{{Name: "read", Ops: 1e6}}}
		if got := nullSpeed(r); got < 0.999*x.want || got > 1.001*x.want {
			t.Errorf("%s: %v a second, want %v", x.name, got, x.want)
		}
	}
}
