package worker

import (
	"context"
	"io"
	"runtime"
	"runtime/debug"
	"testing"

	"plimsoll/internal/measure/wire"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// littering is a workload that leaves so many bytes of garbage.
type littering struct {
	bytes int
	// cycles is how often it was collected meanwhile.
	cycles uint32
}

var litter []byte

func (l *littering) Run(context.Context, func(load.Sample)) (*workload.Result, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for n := 0; n < l.bytes; n += 4096 {
		litter = make([]byte, 4096)
	}
	runtime.ReadMemStats(&after)
	l.cycles = after.NumGC - before.NumGC
	return &workload.Result{}, nil
}

func (*littering) Close() error { return nil }

// TestNoCollectionInTheWindow: what an ordinary trial leaves is not collected while it is measured;
// memory has a bound all the same.
func TestNoCollectionInTheWindow(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	defer debug.SetGCPercent(percent)
	little, much := &littering{bytes: garbage / 2}, &littering{bytes: 20 * garbage}
	for _, l := range []*littering{little, much} {
		if m := measure(t.Context(), l, "1", wire.NewWriter(io.Discard), func() {}); m.Result == nil {
			t.Fatalf("measure = %+v", m)
		}
	}
	if little.cycles != 0 || much.cycles == 0 {
		t.Errorf("%d bytes were collected %d times, %d bytes %d times; want never, and some time", little.bytes, little.cycles, much.bytes, much.cycles)
	}
	if p := debug.SetGCPercent(100); p != 100 || debug.SetMemoryLimit(-1) != limit {
		t.Errorf("afterwards the collector is at %d %%, its limit %d", p, debug.SetMemoryLimit(-1))
	}
}
