package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/leaktest"
)

// TestRunVanished: the device goes away in the middle. Its cells fail with the kernel's
// words, what was measured before is kept, the others go on, and not even a
// folder that can't be removed any more stops the run. Either the file system is shut down, and each
// call fails at once; or it is left alone, and its device has no block any more.
func TestRunVanished(t *testing.T) {
	t.Parallel()
	needRun(t)
	for _, way := range []string{"Shutdown", "NoBlocks"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			device, disk := disktest.Disk(t, disktest.Options{})
			vanish := func() error { return disktest.Shutdown(disk) }
			if way == "NoBlocks" {
				vanish = func() error { return disktest.Vanish(device) }
			}
			testVanished(t, vanishing{
				engines: "host, oci", places: "dir: {}, disk: {kind: dir, path: " + disk + "}, bound: {kind: bind, path: " + disk + "}",
				kept: "dir", lost: []string{"disk", "bound"}, disk: disk, vanish: vanish, blocks: 12,
			})
		})
	}
}

// A vanishing is a plan's engines and places, those places of it that are lost with a disk and one that is
// not, and what takes the disk away.
type vanishing struct {
	engines, places, kept string
	lost                  []string
	disk                  string
	vanish                func() error
	// blocks are so many that most are left when a busy machine sees that it is time.
	blocks int
}

func testVanished(t *testing.T, v vanishing) {
	dir := t.TempDir()
	plan := `
name: vanished
workloads:
  randwrite: {rw: randwrite, bs: 4KiB, iodepth: 4, direct: true, size: 1MiB, number_ios: 200}
  append: {kind: append, count: 50}
engines: [` + v.engines + `]
places: {` + v.places + `}
blocks: ` + strconv.Itoa(v.blocks)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	gone := make(chan error, 1)
	go func() {
		for ctx.Err() == nil && countTrials(dir) < 12 {
			time.Sleep(20 * time.Millisecond)
		}
		gone <- v.vanish()
	}()
	r := apart(t, ctx, dir, plan, "run", "-")
	if err := <-gone; err != nil {
		t.Fatalf("the device did not go away: %v", err)
	}
	if r.status != exitCellsFailed {
		t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
	}
	run, trials := records(t, dir)
	places := byPlace(trials)
	wantDone(t, places[v.kept], 2*v.blocks)
	for _, p := range v.lost {
		wantLost(t, p, places[p])
	}
	if run.Status != record.Done {
		t.Errorf("the run is %s", run.Status)
	}
	wantToldLeft(t, run, v.disk)
	sweepVanished(t, dir, v.disk, run.ID)
}

// wantToldLeft fails if something of a run is left on a disk that went away, or can't be seen any more, and no warning names the
// disk. A file system that has not noticed yet that its device is gone still removes, in the page cache.
func wantToldLeft(t *testing.T, run record.Run, disk string) {
	t.Helper()
	var left []string
	err := filepath.WalkDir(disk, func(path string, _ os.DirEntry, err error) error {
		if filepath.Base(path) == "lost+found" {
			return filepath.SkipDir // mkfs's, in which no run puts anything.
		}
		if strings.Contains(filepath.Base(path), run.ID) {
			left = append(left, path)
		}
		return err
	})
	told := slices.ContainsFunc(run.Warnings, func(w record.Warning) bool { return w.Check == "cleanup" && strings.Contains(w.Text, disk) })
	if (err != nil || len(left) > 0) && !told {
		t.Errorf("no warning names the disk, on which are %v (error %v)", left, err)
		for _, w := range run.Warnings {
			t.Logf("warning %s: %s", w.Check, w.Text)
		}
	}
}

// wantLost fails unless a place whose device went away has trials from before, and failures with the kernel's words: that an
// I/O failed, or that the file system, which has noticed, is to be read only.
func wantLost(t *testing.T, place string, trials []record.Trial) {
	t.Helper()
	done, failed := 0, 0
	for _, tr := range trials {
		switch {
		case tr.Status == record.Done:
			done++
		case strings.Contains(tr.Error, "input/output error") || strings.Contains(tr.Error, "read-only file system"):
			failed++
		default:
			t.Errorf("%s, block %d: %s in phase %s with %q, want the kernel's words", tr.Key, tr.Block, tr.Status, tr.Phase, tr.Error)
		}
	}
	// Two workloads in six blocks or more, of which one or two were before. What only the page cache takes may still be done for a while, and
	// a busy machine takes the disk away later.
	if done == 0 || failed < 4 {
		t.Errorf("%s: %d trials were done and %d failed, want those before kept, and 4 failures at least", place, done, failed)
	}
}

// sweepVanished takes away a disk that does no I/O any more, and runs something else. Only
// what was on the disk waited for that sweep; afterwards nothing is left of run id.
func sweepVanished(t *testing.T, dir, disk, id string) {
	t.Helper()
	for _, sub := range []string{"data", "oci/state", "oci"} {
		left, _ := os.ReadDir(filepath.Join(dir, sub))
		for _, l := range left {
			if l.Name() != "state" {
				t.Errorf("left behind: %s/%s", sub, l.Name())
			}
		}
	}
	if left := leaktest.Find("plimsoll-"+id, dir); len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
	if err := disktest.Unmount(disk); err != nil {
		t.Errorf("a process holds the disk: %v", err)
	}
	r := plimsoll(t, t.Context(), dir, small, "run", "-", "--only", "workload=append,engine=host,place=dir", "--blocks", "1")
	if r.status != exitDone {
		t.Errorf("the next run: status %d, stderr:\n%s", r.status, r.stderr)
	}
	checkClean(t, dir)
}
