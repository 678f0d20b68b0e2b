package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
)

// TestReadsOnly: on a device that is only read from no rate of writing is set, and what it has of writing goes when that is
// removed.
func TestReadsOnly(t *testing.T) {
	for version, files := range map[int]map[string]string{
		1: {"cg/blkio/c/blkio.throttle.read_bps_device": "8:16 100|254:0 100", "cg/blkio/c/blkio.throttle.write_bps_device": "254:0 200|8:16 7"},
		2: {"cg/c/io.max": "8:16 rbps=100 wbps=7 riops=max wiops=max|254:0 rbps=100 wbps=200 riops=max wiops=max"},
	} {
		f := newFake(t, version, "/c")
		hold := func(c limit.Change, devices, reads []device.Number) {
			t.Helper()
			if _, err := f.host.Hold(f.target("/c"), Want{Change: c, Devices: devices, ReadsOnly: reads}); err != nil {
				t.Fatal(err)
			}
		}
		both := []device.Number{vda, sdb}
		hold(limit.Change{Set: limit.Limits{WriteBPS: 7}}, []device.Number{sdb}, nil)
		hold(limit.Change{Set: limit.Limits{ReadBPS: 100, WriteBPS: 200}}, both, []device.Number{sdb})
		for file, want := range files {
			b, err := os.ReadFile(filepath.Join(f.root, file))
			lines := strings.Split(strings.TrimSpace(string(b)), "\n")
			for _, w := range strings.Split(want, "|") {
				if err != nil || !strings.Contains(string(b), w+"\n") || len(lines) != 2 {
					t.Errorf("version %d: %s has %q, want %s (%v)", version, file, b, w, err)
				}
			}
		}
		hold(limit.Clear(), both, []device.Number{sdb})
		for file := range files {
			if b, err := os.ReadFile(filepath.Join(f.root, file)); err != nil || strings.TrimSpace(string(b)) != "" {
				t.Errorf("version %d: cleared, %s has %q, %v", version, file, b, err)
			}
		}
	}
}
