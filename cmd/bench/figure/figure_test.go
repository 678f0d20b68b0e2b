package figure

import (
	"bytes"
	"testing"
	"time"

	"plimsoll/internal/testkit/golden"
)

// TestTable: the median decides, of the ratios within each round or of the values; what has no peer, too few groups or
// no value is not judged by them.
func TestTable(t *testing.T) {
	const ms = time.Millisecond
	half := Goal{Op: AtLeast, Value: 1.3, Ratio: true}
	var out bytes.Buffer
	missed, err := Table(&out, "some figures", "fio", []Figure{
		// A slow round slows both. The median of the ratios 2, 4 and 1 is 2; the ratio of the medians would be 1.
		{Name: "ratio met", Ours: []float64{200, 40, 100}, Peer: []float64{100, 10, 100}, Goal: half},
		{Name: "ratio missed", Ours: []float64{100, 100}, Peer: []float64{100, 100}, Goal: half},
		{Name: "ratio without a peer", Ours: []float64{100, 90}, Goal: half},
		{Name: "value beside a peer's", Ours: []float64{0.991}, Peer: []float64{2}, Unit: Share, Goal: Goal{Op: Near, Value: 1, Off: 0.01}},
		{Name: "too far", Ours: []float64{97}, Peer: []float64{100}, Goal: Goal{Op: Near, Value: 1, Off: 0.02, Ratio: true}},
		{Name: "an even number of times", Ours: Times([]time.Duration{40 * ms, 10 * ms, 20 * ms, 12 * ms}), Unit: Milliseconds, Goal: Goal{Op: AtMost, Value: float64(16 * ms)}},
		{Name: "too slow", Ours: Times([]time.Duration{17 * ms}), Unit: Milliseconds, Goal: Goal{Op: AtMost, Value: float64(16 * ms)}, Note: "4 writes"},
		{Name: "not judged", Ours: []float64{17}, Goal: Goal{Op: AtMost, Value: 16}, Unjudged: true},
		{Name: "no goal", Ours: []float64{1 << 20}, Unit: MiB},
		{Name: "failed", Goal: half, Failed: "it broke"},
		{Name: "skipped", Goal: half, Skipped: "it needs root"},
	})
	if err != nil || missed != 4 {
		t.Errorf("%d goals were missed, want 4; %v", missed, err)
	}
	out.WriteString("\n")
	if _, err := Table(&out, "no peers and no goals", "", []Figure{{Name: "a", Ours: []float64{1}, Unit: Seconds}}); err != nil {
		t.Error(err)
	}
	golden.Check(t, "table.txt", out.String())
}
