package loopdisk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/testkit/leaktest"
)

func TestDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	state := t.TempDir()
	d, err := Make(t.Context(), state, "one", 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	s, err := device.Host().Of(d.Path())
	if err != nil || s.Device == nil || !strings.HasPrefix(s.Device.Name, "loop") || s.Mount.FSType != "ext4" {
		t.Errorf("the disk stands on %+v, %v", s, err)
	}
	if err := os.WriteFile(filepath.Join(d.Path(), "f"), make([]byte, 1<<20), 0o600); err != nil {
		t.Error(err)
	}
	if removed, err := Sweep(state); err != nil || len(removed) > 0 {
		t.Errorf("Sweep of a living disk: %v, %v", removed, err)
	}
	if _, err := Make(t.Context(), state, "one", 64<<20); err == nil {
		t.Error("a second disk of the same name was made")
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(folderOf(state)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	// A process that was killed: its lock is gone, and all else is there.
	if d, err = Make(t.Context(), state, "two", 64<<20); err != nil {
		t.Fatal(err)
	}
	d.owner.Close()
	if removed, err := Sweep(state); err != nil || len(removed) != 1 || !strings.Contains(removed[0], "two") {
		t.Errorf("Sweep = %v, %v", removed, err)
	}
	if left := leaktest.Find(state); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	for name, size := range map[string]int64{"small": 1 << 20, "huge": 1 << 50, "../out": 64 << 20, "": 64 << 20} {
		if d, err := Make(t.Context(), state, name, size); err == nil {
			t.Errorf("Make(%q, %d) made %s", name, size, d.Path())
		}
	}
	if left, _ := os.ReadDir(folderOf(state)); len(left) > 0 {
		t.Errorf("left after failures: %v", left)
	}
}
