package engine_test

import (
	"strings"
	"testing"

	"plimsoll/internal/engine"
	"plimsoll/internal/limit"
	"plimsoll/internal/place"
	"plimsoll/internal/workload"
	"plimsoll/load"
)

// TestVMLimits: rates hold inside the guest while a trial is measured, and not while its files are laid out.
func TestVMLimits(t *testing.T) {
	needVM(t)
	const rate = 2 << 20
	o := vmOptions(t, t.TempDir())
	spec := engine.Spec{Place: place.Spec{Name: "layer", Kind: place.Layer}, Limits: limit.Limits{Name: "slow", WriteBPS: rate}}
	a := openVM(t, engine.NewVM(o), "limits-1", spec)
	defer func() {
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	// Its layout is 16 MiB, which the rate would take eight seconds for; the test's lower bound is no timing, but bytes.
	job := load.Job{RW: load.RandWrite, BS: 64 << 10, Size: 16 << 20, NumberIOs: 96, Direct: true, IOEngine: load.PSync}
	if err := a.Prepare(t.Context(), "1", workload.Spec{Name: "w", Kind: workload.Block, Job: job}); err != nil {
		t.Fatal(err)
	}
	if err := a.Start("1"); err != nil {
		t.Fatal(err)
	}
	res, err := a.Wait(t.Context(), "1", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, written := res.Bytes()
	// The kernel lets a tenth of a second's worth pass at once.
	if got := float64(written) / res.Elapsed.Seconds(); got > rate*1.25 {
		t.Errorf("%d bytes in %v: %.0f a second, want %d at most", written, res.Elapsed, got, rate)
	}
	if !strings.HasPrefix(a.Info().Storage, "virtio-blk, raw, cache=writeback") || !strings.HasPrefix(a.Info().Runtime, "qemu ") {
		t.Errorf("Info() = %+v, want the disk and QEMU in words", a.Info())
	}
}
