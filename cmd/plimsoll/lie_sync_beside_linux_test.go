package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/disktest"
)

// syncBeside has fio sync files in a folder until the test ends, with four jobs.
func syncBeside(t *testing.T, folder string) {
	t.Helper()
	cmd := exec.Command("fio", "--name=beside", "--directory="+folder, "--rw=write", "--bs=4k", "--size=8m", "--fsync=1", "--numjobs=4", "--time_based", "--runtime=300", "--thread")
	mustDo(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
}

// toldSyncs counts the trials of a workload in which the check of syncs says something.
func toldSyncs(trials []record.Trial, workload string) (n, of int) {
	for _, t := range trials {
		if t.Cell.Workload != workload {
			continue
		}
		of++
		if slices.ContainsFunc(t.Warnings, func(w record.Warning) bool { return w.Check == check.Sync }) {
			n++
		}
	}
	return n, of
}

// TestLieSyncBeside: syncs flush nothing, and another program's syncs flush the same disk all the time.
func TestLieSyncBeside(t *testing.T) {
	needRun(t)
	disk := disktest.Loop(t, disktest.Image(t, 2*roomy), true)
	parts := disktest.Partitions(t, disk)
	for _, p := range parts {
		disktest.Format(t, p, "ext4")
	}
	_, safe := disktest.Disk(t, disktest.Options{Direct: true, Size: roomy})
	_, honest := disktest.Disk(t, disktest.Options{Direct: true, Size: roomy})
	places := map[string]string{
		"nobarrier": disktest.Mount(t, parts[1], "ext4", 0, "nobarrier"),
		"fuse":      disktest.BindFS(t, disktest.Mount(t, disktest.Loop(t, formatted(t), true), "ext4", 0, ""), true),
		"honest":    honest,
	}
	syncBeside(t, disktest.Mount(t, parts[0], "ext4", 0, ""))
	dir := t.TempDir()
	if r := plimsoll(t, t.Context(), dir, syncPlan(safe, places), "run", "-"); r.status != exitDone {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	t.Run("nobarrier", func(t *testing.T) { wantLessSafe(t, dir, "nobarrier", "wal", "dsync") })
	t.Run("fuse ignoring syncs", func(t *testing.T) {
		_, trials := records(t, dir)
		mine := byPlace(trials)["fuse"]
		if n, of := toldSyncs(mine, "wal"); n != of || of == 0 {
			t.Errorf("of %d trials, %d have a doubt or a note on their syncs; the first: %+v, %+v", of, n, mine[0].Warnings, mine[0].Truth)
		}
	})
	t.Run("honest", func(t *testing.T) {
		wantSafe(t, dir, "honest")
		wantSafe(t, dir, "safe")
	})
}

// formatted is an image with an ext4 in it.
func formatted(t *testing.T) string {
	t.Helper()
	image := disktest.Image(t, roomy)
	disktest.Format(t, image, "ext4")
	return image
}

// TestSyncTogether: syncs that share flushes, of several jobs or at a depth, are not said to be lost.
func TestSyncTogether(t *testing.T) {
	t.Parallel()
	needRun(t)
	plan := `
name: together
workloads:
  wal: {kind: wal, runtime: 150ms}
  jobs: {rw: write, bs: 4KiB, size: 4MiB, fsync: 1, numjobs: 8, runtime: 150ms}
  depth: {rw: randwrite, bs: 4KiB, size: 4MiB, direct: true, sync: dsync, iodepth: 16, runtime: 150ms}
  batches: {rw: randwrite, bs: 4KiB, size: 4MiB, direct: true, fsync: 4, iodepth: 16, runtime: 150ms}
engines: [host]
clients: [3]
blocks: 1
places:
`
	for _, kind := range []string{"ext4", "xfs", "btrfs"} {
		_, dir := disktest.Disk(t, disktest.Options{Kind: kind, Direct: true, Size: 2 * roomy})
		plan += fmt.Sprintf("  %s: {kind: dir, path: %s}\n", kind, dir)
	}
	_, inner := disktest.Disk(t, disktest.Options{Size: 2 * roomy})
	plan += fmt.Sprintf("  buffered: {kind: dir, path: %s}\n", inner)
	dir := t.TempDir()
	if r := plimsoll(t, t.Context(), dir, plan, "run", "-"); r.status != exitDone {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	_, trials := records(t, dir)
	for _, tr := range trials {
		var words []string
		for _, w := range tr.Warnings {
			if w.Unsafe {
				words = append(words, w.Text)
			}
		}
		if words != nil || len(tr.Results) == 0 {
			t.Errorf("%v: %s, %+v", tr.Cell, strings.Join(words, " "), tr.Truth)
		}
	}
}
