package hold

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/testkit/journaltest"
	"plimsoll/internal/testkit/killtest"
	"plimsoll/internal/testkit/treetest"
	"plimsoll/internal/text/refusal"
)

func init() { killtest.Life("volume-limits", liveOwnDevice) }

var (
	ownVolume = Volume{Name: "db", Folder: "/volumes/db"}
	ownSpot   = explain.Spot{Name: "vda", Number: device.Number{Major: 254}}
)

// liveOwnDevice sets a volume's limits, changes them, lowers and raises them, and clears them. It prints what it has done.
func liveOwnDevice(dir string) error {
	k, err := newKilled(dir)
	if err != nil {
		return err
	}
	ctx, w := context.Background(), k.DeviceLimits(k.state)
	for _, iops := range []int64{500, 2000} {
		if _, err := w.SetVolume(ctx, ownVolume, ownSpot, limit.Limits{ReadIOPS: iops, WriteIOPS: iops}); err != nil {
			return err
		}
		os.Stdout.WriteString(fmt.Sprintf("set %d\n", iops))
	}
	low := limit.Limits{ReadIOPS: 100, WriteIOPS: 300}
	if err := w.Lower(ctx, ownVolume, ownSpot, limit.Limits{}, low); err != nil {
		return err
	}
	if err := w.Raise(ctx, ownVolume, low); err != nil {
		return err
	}
	os.Stdout.WriteString("raised\n")
	return w.ClearVolume(ctx, ownVolume)
}

// TestKilledVolumeDevice: a process that sets, changes, lowers, raises and clears a volume's limits is killed at each call by which it changes
// something. All that it did is recorded. A sweep leaves nothing lowered, and a clear leaves nothing at all.
func TestKilledVolumeDevice(t *testing.T) {
	killed := killtest.Test{
		Name: "volume-limits", Kinds: []string{"device-limit"}, Calls: []string{"renameat", "unlinkat"},
		Before: func(t *testing.T, dir string) {
			if err := os.Symlink(treetest.Make(t, killedFiles), filepath.Join(dir, "machine")); err != nil {
				t.Fatal(err)
			}
		},
		After: func(t *testing.T, dir, at, said string) {
			at += ", after " + strings.Join(strings.Fields(said), " ")
			k, err := newKilled(dir)
			if err != nil {
				t.Fatal(err)
			}
			k.recorded(t, at)
			if _, err := SweepRuns(t.Context(), k.FS, k.state); err != nil {
				t.Errorf("killed at %s: %v", at, err)
			}
			w := newDeviceLimits(k.FS, k.Groups, k.state)
			if _, err := w.SweepVolumes(t.Context()); err != nil {
				t.Errorf("killed at %s: %v", at, err)
			}
			k.recorded(t, at)
			for _, file := range []string{"read", "write"} {
				has := k.has(t, "cg/blkio.throttle."+file+"_iops_device")
				if set := strings.Contains(said, "set"); has == "254:0 100" || has == "254:0 300" || set && has == "" && !strings.Contains(said, "raised") {
					t.Errorf("killed at %s: after the sweep the root group has %q", at, has)
				}
			}
			if err := w.ClearVolume(t.Context(), ownVolume); err != nil {
				t.Errorf("killed at %s: %v", at, err)
			}
			k.untouched(t, at)
		},
	}.Run(t)
	if killed < 12 {
		t.Errorf("it was killed %d times, which are too few for what it does", killed)
	}
}

// TestVolumeDevice: a volume's device has one owner, and another device that gets its number has none of its limits.
func TestVolumeDevice(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(treetest.Make(t, killedFiles), filepath.Join(dir, "machine")); err != nil {
		t.Fatal(err)
	}
	seq := func(n string) {
		if err := os.WriteFile(filepath.Join(dir, "machine/sys/devices/vda/diskseq"), []byte(n+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	seq("1")
	k, err := newKilled(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := k.DeviceLimits(k.state)
	set := func(v Volume, iops int64) error {
		_, err := w.SetVolume(t.Context(), v, ownSpot, limit.Limits{WriteIOPS: iops})
		return err
	}
	file, other := "cg/blkio.throttle.write_iops_device", Volume{Name: "log", Folder: "/volumes/log"}
	if err := set(ownVolume, 500); err != nil || k.has(t, file) != "254:0 500" {
		t.Fatalf("SetVolume: %v, the root group has %q", err, k.has(t, file))
	}
	if err := set(other, 300); !errors.Is(err, refusal.ErrRefused) || !strings.Contains(err.Error(), "plimsoll volume update") {
		t.Errorf("another owner: %v", err)
	}
	if err := k.set(t.Context(), limit.Limits{WriteIOPS: 300}); !errors.Is(err, refusal.ErrRefused) {
		t.Errorf("limit set: %v", err)
	}
	if err := w.Lower(t.Context(), other, ownSpot, limit.Limits{}, limit.Limits{ReadIOPS: 5, WriteIOPS: 5}); !errors.Is(err, refusal.ErrRefused) {
		t.Errorf("Lower of another owner: %v", err)
	}
	seq("2")
	// The number is the other volume's now: it takes over nothing.
	if err := set(other, 300); err != nil || k.has(t, file) != "254:0 300" {
		t.Errorf("the next device: %v, the root group has %q", err, k.has(t, file))
	}
	seq("3")
	if done, err := w.SweepVolumes(t.Context()); err != nil || len(done) != 1 || k.has(t, file) != "" {
		t.Errorf("SweepVolumes = %q, %v, the root group has %q", done, err, k.has(t, file))
	}
	if left := journaltest.Left(t, k.state); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
