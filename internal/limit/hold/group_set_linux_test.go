package hold

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/testkit/disktest"
)

// volume is one that no engine knows, in a folder of this machine.
func volume(name, dir string) target.Target {
	return target.Target{Kind: target.Volume, Engine: target.Docker, Name: name, Running: true, Mounts: []target.Mount{{Source: dir, Volume: name, Driver: "local"}}}
}

// TestOwnDevice: a limit goes to the root group for a volume that is all that there is on its device. One in a folder of a
// disk, which has a mount point of its own as /var/lib/docker may have, has other volumes beside it.
func TestOwnDevice(t *testing.T) {
	if _, err := os.Stat("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device"); err != nil {
		t.Skip("needs the blkio controller of version 1")
	}
	_, mount := disktest.Disk(t, disktest.Options{})
	link := filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.MkdirAll(filepath.Join(mount, "volumes", "a"), 0o755), os.Symlink(mount, link)); err != nil {
		t.Fatal(err)
	}
	h := holder(t)
	for _, tt := range []struct {
		dir  string
		root bool
	}{{mount, true}, {link, true}, {filepath.Join(mount, "volumes", "a"), false}, {filepath.Join(link, "volumes"), false}} {
		s, err := h.ScopeOf(volume("data", tt.dir), Where{}, true)
		if err != nil && !tt.root && strings.Contains(err.Error(), "other data is on its device ("+mount) {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.dir, err)
			continue
		}
		if root := slices.ContainsFunc(s.GroupSets, func(p GroupSet) bool { return p.DeviceWide }); root != tt.root {
			t.Errorf("%s: its limit goes to the root group: %v, want %v", tt.dir, root, tt.root)
		}
	}
	// Asked for, it does, and says whom else it holds.
	s, err := h.ScopeOf(volume("data", filepath.Join(mount, "volumes", "a")), Where{DeviceWide: true}, true)
	if err != nil || !strings.Contains(s.HoldsOthers(), "all buffered writes") || !strings.Contains(s.HoldsOthers(), mount) {
		t.Errorf("device-wide: %+v, %v", s, err)
	}
}
