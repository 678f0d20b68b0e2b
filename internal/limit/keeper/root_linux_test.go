package keeper

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/testkit/treetest"
)

// damagedRoot makes the files of newRoot, and returns a function that damages the record of a device.
func damagedRoot(t *testing.T) (dir string, damage func(id string) (path string)) {
	t.Helper()
	dir = t.TempDir()
	if err := errors.Join(os.Symlink(treetest.Make(t, rootFiles), filepath.Join(dir, "machine")), os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte("rules: []\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir, func(id string) string {
		t.Helper()
		path := filepath.Join(dir, "shared/journal/device-limit", id+".json")
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(`{"kind":`), 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
}

// TestRootDamagedMeanwhile: a keeper whose record of a device is damaged keeps its limits there, and writes the record
// again. It removed them. A device that it doesn't limit, with a damaged record, gets no limit.
func TestRootDamagedMeanwhile(t *testing.T) {
	dir, damage := damagedRoot(t)
	k, err := newRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	has := func(want string) {
		t.Helper()
		if b, err := os.ReadFile(filepath.Join(dir, "machine/cg", rootWrites)); err != nil || strings.TrimSpace(string(b)) != want {
			t.Errorf("the root group has %q, %v, want %q", b, err, want)
		}
	}
	other := damage("254:0")
	if err := rootRates(k, map[limit.Key]int64{limit.WriteBPS: 1 << 20}); err == nil || !strings.Contains(err.Error(), other) {
		t.Errorf("with a damaged record = %v, want it refused", err)
	}
	has("254:0 5242880")
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	if err := rootRates(k, map[limit.Key]int64{limit.WriteBPS: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	has("254:0 1048576")
	damage("254:0")
	k.applyRoot() // As after each listing of all containers.
	has("254:0 1048576")
	if all, err := k.opt.DeviceLimits.List(); err != nil || len(all) != 1 || all[0].Device != (device.Number{Major: 254}) {
		t.Errorf("recorded are %+v, %v, want one of 254:0", all, err)
	}
	if len(k.root.broken) > 0 {
		t.Errorf("the root group's faults are %v", k.root.broken)
	}
	damage("254:0")
	if err := rootRates(k, map[limit.Key]int64{limit.WriteBPS: 2 << 20}); err != nil {
		t.Errorf("another rate = %v", err)
	}
	has("254:0 2097152")
	if err := errors.Join(rootRates(k, nil), k.Close()); err != nil {
		t.Error(err)
	}
	has("254:0 5242880")
}

// TestRootDamagedBefore: a record that is damaged when a keeper starts is a fault of the root group until it is discarded.
// The fault stayed for as long as the keeper ran.
func TestRootDamagedBefore(t *testing.T) {
	dir, damage := damagedRoot(t)
	path := damage("7:98") // A device that is gone.
	k, err := newRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	k.Check()
	if s := k.Status().RootGroup; s == nil || len(s.Faults) != 1 || !strings.Contains(s.Faults[0].Text, path) {
		t.Errorf("the root group is %+v, want a fault that names the record", s)
	}
	if removed, err := k.opt.DeviceLimits.Sweep(t.Context()); len(removed) != 1 || err != nil {
		t.Fatal(removed, err)
	}
	k.Check()
	if s := k.Status().RootGroup; s != nil {
		t.Errorf("the record was discarded, and the root group is %+v", s)
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
}

// TestRootClearBesideStart: a clear that found no keeper is removing its limit in the root group when the keeper starts.
// The keeper waits for it, and sets the limit anew. It had read the record before that went, and restored the limit
// without one.
func TestRootClearBesideStart(t *testing.T) {
	dir, _ := damagedRoot(t)
	rates := map[limit.Key]int64{limit.WriteBPS: 1 << 20}
	start := func() (*Keeper, error) {
		k, err := newRoot(dir)
		if err == nil {
			err = rootRates(k, rates)
		}
		return k, err
	}
	k, err := start()
	if err := errors.Join(err, k.Close()); err != nil {
		t.Fatal(err)
	}
	w := k.opt.DeviceLimits
	all, err := w.List()
	if err != nil || len(all) != 1 {
		t.Fatalf("recorded are %+v, %v", all, err)
	}
	starts := make(chan error, 1)
	var next *Keeper
	_, err = w.Clear(t.Context(), all, nil, false, func(hold.DeviceLimit) bool {
		if Runs(k.opt.Run) {
			t.Error("a keeper runs")
		}
		go func() {
			var err error
			next, err = start()
			starts <- err
		}()
		select {
		case err := <-starts:
			starts <- err
		case <-time.After(200 * time.Millisecond): // It waits.
		}
		return false
	})
	if err := errors.Join(err, <-starts); err != nil {
		t.Fatal(err)
	}
	next.Check()
	limited, err := os.ReadFile(filepath.Join(dir, "machine/cg", rootWrites))
	all, bad := w.List()
	if err := errors.Join(err, bad); err != nil || strings.TrimSpace(string(limited)) != "254:0 1048576" || len(all) != 1 {
		t.Errorf("the root group has %q, and recorded are %+v, %v", limited, all, err)
	}
	if err := errors.Join(rootRates(next, nil), next.Close()); err != nil {
		t.Error(err)
	}
}
