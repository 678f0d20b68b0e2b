package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/disktest"
)

// TestRunBlockDevice: a block device is refused unless its path is repeated, never
// written over while it is mounted, and measured otherwise.
func TestRunBlockDevice(t *testing.T) {
	needRun(t)
	loop := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	plan := "name: p\nworkloads: {w: {rw: randwrite, bs: 4KiB, direct: true, size: 8MiB, number_ios: 200}, r: {rw: randread, bs: 4KiB, direct: true, size: 8MiB, number_ios: 200}}\nengines: [host]\nplaces: {dir: {path: " + loop + "}}\nblocks: 1\n"

	r := plimsoll(t, t.Context(), t.TempDir(), plan, "run", "-")
	r.wantError(t, exitUsage, "a block device", "--destructive "+loop)

	disktest.Format(t, loop, "ext4")
	t.Run("mounted", func(t *testing.T) {
		point := disktest.Mount(t, loop, "ext4", 0, "")
		if err := os.WriteFile(filepath.Join(point, "precious"), []byte("data"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := plimsoll(t, t.Context(), t.TempDir(), plan, "run", "-", "--destructive", loop)
		r.wantError(t, exitUsage, "mounted")
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
	setVariable(t, "DOCKER_HOST", "unix:///nowhere/docker.sock")
	r := plimsoll(t, t.Context(), t.TempDir(), small, "run", "-", "--set", "engines=[docker]", "--set", "baseline={engine: docker, place: layer}")
	r.wantError(t, exitCannot, "docker")
}

// TestRunNothingIsNotLast: a run that measured nothing is not recorded, so that "last"
// stays the last run that has something to report.
func TestRunNothingIsNotLast(t *testing.T) {
	needRun(t)
	setVariable(t, "DOCKER_HOST", "unix:///nowhere/docker.sock")
	state := recorded(t)
	r := plimsoll(t, t.Context(), state, "", "run", "--only", "engine=docker")
	r.wantError(t, exitCannot, "skipped docker/", "no cell of the plan can be measured here")
	if r.stdout != "" {
		t.Errorf("it reported:\n%s", r.stdout)
	}
	// Nor is one that was interrupted before its first trial.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r = plimsoll(t, ctx, state, small, "run", "-")
	r.wantError(t, exitFailure, "nothing is recorded")
	if last, _ := records(t, state); last.ID != newRun {
		t.Errorf("the last run is %s, want %s", last.ID, newRun)
	}
}

// TestFilesInUse: a file that a loop device is made of is never written over, leave or not.
func TestFilesInUse(t *testing.T) {
	image := disktest.Image(t, 1<<20)
	if err := device.NotInUse(image); err != nil {
		t.Errorf("a file that nobody uses: %v", err)
	}
	loop := disktest.Loop(t, image, false)
	if err := device.NotInUse(image); err == nil || !strings.Contains(err.Error(), loop) {
		t.Errorf("the file of %s: %v", loop, err)
	}
}
