package loopdisk

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/device"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/killtest"
	"plimsoll/internal/testkit/leaktest"
)

func TestDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	state := t.TempDir()
	j := journal.In(state)
	sweep := func() ([]string, error) {
		return journal.In(state).Sweep(t.Context(), map[string]journal.Undo{Kind: Undo(state)})
	}
	d, err := Make(t.Context(), j, state, "one", 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	s, err := device.Host().Of(d.Path())
	if err != nil || s.Device == nil || !strings.HasPrefix(s.Device.Name, "loop") {
		t.Errorf("the disk stands on %+v, %v", s, err)
	} else if s.Mount.FSType != "ext4" {
		t.Errorf("the disk has %s", s.Mount.FSType)
	}
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(d.folder, imageName), &st); err != nil || st.Blocks*512 < 64<<20 {
		t.Errorf("%d bytes of the image are allocated, %v", st.Blocks*512, err)
	}
	if err := os.WriteFile(filepath.Join(d.Path(), "f"), make([]byte, 1<<20), 0o600); err != nil {
		t.Error(err)
	}
	if removed, err := sweep(); err != nil || len(removed) > 0 {
		t.Errorf("Sweep of a living disk: %v, %v", removed, err)
	}
	if _, err := Make(t.Context(), j, state, "one", 64<<20); err == nil {
		t.Error("a second disk of the same name was made")
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(folderOf(state)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if left := leaktest.Find(state); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	for name, size := range map[string]int64{"small": 1 << 20, "huge": 1 << 50, "../out": 64 << 20, "": 64 << 20} {
		if d, err := Make(t.Context(), j, state, name, size); err == nil {
			t.Errorf("Make(%q, %d) made %s", name, size, d.Path())
		}
	}
	if left, _ := os.ReadDir(folderOf(state)); len(left) > 0 {
		t.Errorf("left after failures: %v", left)
	}
}

func init() {
	killtest.Life("disk", func(dir string) error {
		d, err := Make(context.Background(), journal.In(dir), dir, "killed", MinSize)
		if err != nil {
			return err
		}
		return d.Close()
	})
}

// TestKilled: a process that makes or removes a disk is killed at each of its calls; the disk is removed later, and nothing is left.
func TestKilled(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	killed := killtest.Test{
		Kinds: []string{"loop-disk"},
		Name:  "disk",
		Calls: []string{"mkdirat", "renameat", "fallocate", "ioctl", "mount", "umount2", "unlinkat"},
		After: func(t *testing.T, dir, at, _ string) {
			if _, err := journal.In(dir).Sweep(t.Context(), map[string]journal.Undo{Kind: Undo(dir)}); err != nil {
				t.Errorf("killed at %s: %v", at, err)
			}
			left := leaktest.Find(dir)
			disks, _ := os.ReadDir(folderOf(dir))
			if len(left)+len(disks) > 0 {
				t.Errorf("killed at %s: left: %v %v", at, left, disks)
			}
		},
	}.Run(t)
	if killed < 10 {
		t.Errorf("it was killed %d times only", killed)
	}
}
