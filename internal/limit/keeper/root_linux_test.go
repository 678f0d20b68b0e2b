package keeper

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
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
	if all, err := k.opt.DeviceLimits.List(); err != nil || len(all) != 1 || all[0].Device != (device.Number{Major: 254}) || len(k.root.broken) > 0 {
		t.Errorf("recorded are %+v, %v, with the faults %v", all, err, k.root.broken)
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
