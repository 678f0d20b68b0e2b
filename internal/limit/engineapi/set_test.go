package engineapi

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/limit"
	"plimsoll/internal/text/refusal"
)

// TestWindowsUpdate: a Windows daemon refuses limits of a container that is made, so it is not asked.
// The words are those of moby, daemon/container/container_windows.go.
func TestWindowsUpdate(t *testing.T) {
	f := newFake(t, "1.47", "windows")
	f.host = map[string]any{"IOMaximumIOps": 500, "IOMaximumBandwidth": 1 << 20, "CpuCount": 2, "Isolation": "process"}
	a := f.open()
	_, err := a.Set(t.Context(), "web", Resources{Memory: 1 << 30})
	var u *refusal.Error
	if !errors.As(err, &u) || !strings.Contains(err.Error(), "resource updating isn't supported on Windows") {
		t.Errorf("Set = %v", err)
	}
	left, err := a.Forget(t.Context(), "web", Which{})
	if err != nil {
		t.Fatal(err)
	}
	want := left
	want.SystemIOPS, want.SystemBPS, want.CPUCount, want.Isolation = 500, 1<<20, 2, "process"
	if d := cmp.Diff(want, left); d != "" {
		t.Errorf("Forget left (-want +got):\n%s", d)
	}
	if n := len(f.asked()); n > 0 {
		t.Errorf("the daemon was asked %d times to change something", n)
	}
}

// TestOldDocker: an update of devices before API 1.55 is not sent; that of a daemon that
// says yes and does nothing is found out.
func TestOldDocker(t *testing.T) {
	f := newFake(t, "1.54", "linux")
	_, err := f.open().Set(t.Context(), "web", Resources{Devices: []Device{sdb}})
	var u *refusal.Error
	if !errors.As(err, &u) || !strings.Contains(err.Error(), "before version 29.6 (API 1.55)") || len(f.asked()) > 0 {
		t.Errorf("Set = %v after requests %q", err, f.asked())
	}
	f = newFake(t, "1.55", "linux")
	f.drops = true
	_, err = f.open().Set(t.Context(), "web", Resources{Devices: []Device{{Path: "/dev/sdb", WriteBPS: 5}}})
	if !errors.As(err, &u) || !strings.Contains(err.Error(), "write_bps=5 on /dev/sdb") || !strings.Contains(err.Error(), "accepts it, but does not apply it") {
		t.Errorf("Set = %v", err)
	}
	f = newFake(t, "1.55", "linux")
	f.warns = []string{"Your kernel does not support CPU shares or the cgroup is not mounted. Shares discarded."}
	if _, err = f.open().Set(t.Context(), "web", Resources{CPUShares: 5}); !errors.As(err, &u) || !strings.Contains(err.Error(), "Shares discarded") {
		t.Errorf("Set = %v", err)
	}
}

// storedRate is a stored limit as the API writes it.
func storedRate(path string, rate int) any { return []any{map[string]any{"Path": path, "Rate": rate}} }

// TestSetKeeps: limits of other devices, which a list in an update would remove, stay stored, and
// a failed update is taken back.
func TestSetKeeps(t *testing.T) {
	f := newFake(t, "1.55", "linux")
	f.host = map[string]any{"BlkioDeviceWriteBps": storedRate("/dev/sdc", 7), "BlkioDeviceReadBps": storedRate("/dev/sdc", 8), "Memory": 64 << 20, "MemorySwap": 128 << 20, "CpuQuota": 50000}
	a := f.open()
	if _, err := a.Set(t.Context(), "web", Resources{Devices: []Device{{Path: "/dev/sdb", WriteBPS: 5}}, CPUs: 2, Memory: 256 << 20}); err != nil {
		t.Fatal(err)
	}
	got, err := a.Stored(t.Context(), "web")
	want := "write_bps=7 on /dev/sdc|read_bps=8 on /dev/sdc|write_bps=5 on /dev/sdb|cpus=2|memory=256MiB"
	for w := range strings.SplitSeq(want, "|") {
		if !strings.Contains("|"+strings.Join(got.Words(), "|")+"|", "|"+w+"|") {
			t.Errorf("stored %q lacks %q (%v)", got.Words(), w, err)
		}
	}
	if got := f.host["MemorySwap"]; got != float64(512<<20) {
		t.Errorf("MemorySwap = %v, want room for the new limit", got)
	}
	if f.host["NanoCpus"] != nil || f.host["CpuQuota"] != 200000.0 {
		t.Errorf("CPUs are stored as %v and %v; the two ways exclude each other", f.host["NanoCpus"], f.host["CpuQuota"])
	}

	before, _ := json.Marshal(f.host)
	f.refuses = "cgroup: no such device"
	_, err = a.Set(t.Context(), "web", Resources{Devices: []Device{{Path: "/dev/sdd", ReadBPS: 1}}, Memory: 300 << 20})
	if err == nil || !strings.Contains(err.Error(), "no such device") {
		t.Errorf("Set = %v", err)
	}
	if n := len(f.asked()); n != 3 {
		t.Errorf("%d requests, want one more that sets the former limits again", n)
	}
	if after, _ := json.Marshal(f.host); string(after) != string(before) {
		t.Errorf("stored after a refusal: %s, before: %s", after, before)
	}
}

// rateKeys are the four rates.
var rateKeys = []limit.Key{limit.ReadBPS, limit.WriteBPS, limit.ReadIOPS, limit.WriteIOPS}

// TestForgetKeys: one kind of limit is forgotten, and the others of the device stay.
func TestForgetKeys(t *testing.T) {
	f := newFake(t, "1.55", "linux")
	f.host = map[string]any{"BlkioDeviceWriteBps": storedRate("/dev/sdb", 5), "BlkioDeviceReadBps": storedRate("/dev/sdb", 8), "Memory": 64 << 20, "CpuShares": 300}
	a := f.open()
	left, err := a.Forget(t.Context(), "web", Which{Keys: []limit.Key{limit.WriteBPS, limit.CPUShares}})
	if err != nil || strings.Join(left.Words(), "|") != "cpu_shares=300" {
		t.Errorf("Forget = %q, %v", left.Words(), err)
	}
	got, err := a.Stored(t.Context(), "web")
	if err != nil || strings.Join(got.Words(), "|") != "read_bps=8 on /dev/sdb|cpu_shares=300|memory=64MiB" {
		t.Errorf("stored %q, %v", got.Words(), err)
	}
	n := len(f.asked())
	if left, err := a.Forget(t.Context(), "web", Which{Keys: []limit.Key{limit.Memory}}); err != nil || strings.Join(left.Words(), "|") != "memory=64MiB" || len(f.asked()) != n {
		t.Errorf("Forget(memory) = %q, %v after %d requests more", left.Words(), err, len(f.asked())-n)
	}
}

// TestForget: limits of devices are forgotten, of some or all; others are left, and said to be.
func TestForget(t *testing.T) {
	f := newFake(t, "1.55", "linux")
	f.host = map[string]any{
		"BlkioDeviceWriteBps": []any{map[string]any{"Path": "/dev/sdb", "Rate": 5}, map[string]any{"Path": "/dev/sdc", "Rate": 7}},
		"BlkioDeviceReadBps":  storedRate("/dev/sdb", 8), "Memory": 64 << 20,
	}
	a := f.open()
	left, err := a.Forget(t.Context(), "web", Which{Devices: []Device{{Path: "/dev/sdb"}}, Keys: rateKeys})
	if err != nil || len(left.Words()) > 0 {
		t.Errorf("Forget(sdb) = %q, %v", left.Words(), err)
	}
	got, err := a.Stored(t.Context(), "web")
	if err != nil || strings.Join(got.Words(), "|") != "write_bps=7 on /dev/sdc|memory=64MiB" {
		t.Errorf("stored %q, %v", got.Words(), err)
	}
	left, err = a.Forget(t.Context(), "web", Which{})
	if err != nil || strings.Join(left.Words(), "|") != "memory=64MiB" {
		t.Errorf("Forget(all) = %q, %v; want that memory is left", left.Words(), err)
	}

	old := newFake(t, "1.41", "linux")
	old.host = map[string]any{"BlkioDeviceWriteBps": storedRate("/dev/sdb", 5)}
	left, err = old.open().Forget(t.Context(), "web", Which{Devices: []Device{{Path: "/dev/sdb"}}, Keys: rateKeys})
	if err != nil || strings.Join(left.Words(), "|") != "write_bps=5 on /dev/sdb" || len(old.asked()) > 0 {
		t.Errorf("Forget by an old daemon = %q, %v", left.Words(), err)
	}
	none := newFake(t, "1.55", "linux")
	if left, err = none.open().Forget(t.Context(), "web", Which{}); err != nil || len(left.Words()) > 0 || len(none.asked()) > 0 {
		t.Errorf("Forget of nothing = %q, %v after %q", left.Words(), err, none.asked())
	}
}
