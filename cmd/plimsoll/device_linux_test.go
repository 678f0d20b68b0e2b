package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/record"
)

// loopDevice makes a loop device of 16 MiB, and detaches it at the test's end.
func loopDevice(t *testing.T) string {
	t.Helper()
	image := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(image, make([]byte, 16<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", image).Output()
	if err != nil {
		t.Skipf("a loop device is needed: %v", err)
	}
	loop := strings.TrimSpace(string(out))
	t.Cleanup(func() { exec.Command("losetup", "--detach", loop).Run() })
	return loop
}

// TestRunBlockDevice: a block device is refused unless its path is repeated, never
// written over while it is mounted, and measured otherwise.
func TestRunBlockDevice(t *testing.T) {
	needRun(t)
	loop := loopDevice(t)
	plan := "name: p\nworkloads: {w: {rw: randwrite, bs: 4KiB, direct: true, size: 8MiB, runtime: 20ms}, r: {rw: randread, bs: 4KiB, direct: true, size: 8MiB, runtime: 20ms}}\nengines: [host]\nplaces: {dir: {path: " + loop + "}}\nblocks: 1\n"

	r := plimsoll(t, t.Context(), t.TempDir(), plan, "run", "-")
	if r.status != exitUsage || !strings.Contains(r.stderr, "a block device") || !strings.Contains(r.stderr, "--destructive "+loop) {
		t.Errorf("without --destructive: status %d, %s", r.status, r.stderr)
	}

	if out, err := exec.Command("mkfs.ext4", "-q", loop).CombinedOutput(); err != nil {
		t.Skipf("mkfs.ext4 is needed: %v: %s", err, out)
	}
	t.Run("mounted", func(t *testing.T) {
		point := mount(t, loop, "ext4", 0, "")
		if err := os.WriteFile(filepath.Join(point, "precious"), []byte("data"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := plimsoll(t, t.Context(), t.TempDir(), plan, "run", "-", "--destructive", loop)
		if r.status != exitUsage || !strings.Contains(r.stderr, "mounted") {
			t.Errorf("while mounted: status %d, %s", r.status, r.stderr)
		}
		if b, err := os.ReadFile(filepath.Join(point, "precious")); string(b) != "data" {
			t.Errorf("the file system was touched: %q, %v", b, err)
		}
	})

	dir := t.TempDir()
	r = plimsoll(t, t.Context(), dir, plan, "run", "-", "--destructive", loop)
	if r.status != exitDone {
		t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
	}
	_, trials := records(t, dir)
	wantDone(t, trials, 4)
	for _, tr := range trials {
		if tr.FirstWhere().Path != loop || tr.Total().Device != filepath.Base(loop) || tr.Status != record.Done {
			t.Errorf("%s: on %q, device %q", tr.Key, tr.FirstWhere().Path, tr.Total().Device)
		}
		if tr.Total().DeviceRead+tr.Total().DeviceWritten <= 0 {
			t.Errorf("%s: nothing reached the device: %+v", tr.Key, tr.Truth)
		}
	}
	checkClean(t, dir)
}

// TestRunNothing: where nothing of a plan can be done, that is the answer, with
// a status of its own.
func TestRunNothing(t *testing.T) {
	needRun(t)
	t.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
	r := plimsoll(t, t.Context(), t.TempDir(), small, "run", "-", "--set", "engines=[docker]", "--set", "baseline={engine: docker, place: layer}")
	if r.status != exitCannot || !strings.Contains(r.stderr, "docker") {
		t.Errorf("status %d, want %d; stderr:\n%s", r.status, exitCannot, r.stderr)
	}
}
