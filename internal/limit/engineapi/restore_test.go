package engineapi

import (
	"errors"
	"strings"
	"testing"
)

// TestRestore: what was stored before a change is stored again, nothing is asked for where nothing differs, and what an update
// can't take back is told.
func TestRestore(t *testing.T) {
	f := newFake(t, "1.55", "linux")
	f.host = map[string]any{"BlkioDeviceWriteBps": storedRate("/dev/sdc", 7), "BlkioDeviceReadBps": storedRate("/dev/sdc", 8), "Memory": 64 << 20, "MemorySwap": 128 << 20}
	a := f.open()
	before, err := a.Config(t.Context(), "web")
	if err != nil || len(before.Limits().Words()) != 3 {
		t.Fatalf("Config = %+v, %v", before.Limits(), err)
	}
	same := func(when string) {
		t.Helper()
		now, err := a.Stored(t.Context(), "web")
		if got, want := strings.Join(now.Words(), "|"), strings.Join(before.Limits().Words(), "|"); err != nil || got != want {
			t.Errorf("%s: stored %q, want %q (%v)", when, got, want, err)
		}
	}
	if err := a.Restore(t.Context(), "web", before); err != nil || len(f.asked()) > 0 {
		t.Errorf("Restore of nothing = %v, with %q", err, f.asked())
	}
	if left, err := a.Forget(t.Context(), "web", Which{}); err != nil || len(left.Devices) > 0 {
		t.Fatalf("Forget = %+v, %v", left, err)
	}
	if err := a.Restore(t.Context(), "web", before); err != nil {
		t.Errorf("Restore after Forget = %v", err)
	}
	same("after Forget")
	if _, err := a.Set(t.Context(), "web", Resources{Devices: []Device{{Path: "/dev/sdc", WriteBPS: 9, ReadIOPS: 5}, {Path: "/dev/sdb", ReadBPS: 5}}, Memory: 256 << 20}); err != nil {
		t.Fatal(err)
	}
	if err := a.Restore(t.Context(), "web", before); err != nil {
		t.Errorf("Restore after Set = %v", err)
	}
	same("after Set")
	if got := f.host["MemorySwap"]; got != float64(128<<20) {
		t.Errorf("MemorySwap = %v, want what it was", got)
	}
	if _, err := a.Set(t.Context(), "web", Resources{CPUs: 1.5}); err != nil {
		t.Fatal(err)
	}
	if err := a.Restore(t.Context(), "web", before); err == nil || !strings.Contains(err.Error(), "can't take back all by an update: it has cpus=1.5") {
		t.Errorf("Restore of what can't be taken back = %v", err)
	}
	f.refuses = "no"
	if err := a.Restore(t.Context(), "web", before); err == nil || !strings.Contains(err.Error(), "no") {
		t.Errorf("Restore that is refused = %v", errors.Unwrap(err))
	}
}
