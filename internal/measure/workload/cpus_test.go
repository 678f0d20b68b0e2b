package workload

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCPUs(t *testing.T) {
	const ms = time.Millisecond
	a := parseCPUs(strings.NewReader("cpu  9 9 9 9 9 9 9 9\ncpu0 100 10 50 1000 20 3 4 5 0 0\ncpu1 1 2 3 4 5 6 7\ncpu2 x 1 1 1 1 1 1\ncpu9 1 2\nintr 4\n"))
	want := []CPUDelta{{0, 1100 * ms, 570 * ms, 10200 * ms}, {1, 30 * ms, 160 * ms, 90 * ms}}
	if d := cmp.Diff(want, a); d != "" {
		t.Fatal(d)
	}
	b := parseCPUs(strings.NewReader("cpu3 1 1 1 1 1 1 1\ncpu1 5 2 3 4 0 6 7 0\ncpu0 110 10 50 1000 20 3 4 5 0 0\n"))
	// A processor that came is left out, and iowait may go back.
	want = []CPUDelta{{0, 100 * ms, 0, 0}, {1, 40 * ms, 0, 40 * ms}}
	if d := cmp.Diff(want, cpuDeltas(a, b)); d != "" {
		t.Error(d)
	}
}
