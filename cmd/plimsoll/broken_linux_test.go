package main

import (
	"strings"
	"testing"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/disktest"
)

// TestRunVanishedInTrial: the device goes away in the middle of one long trial. It fails at
// once with the place and the kernel's words, and how far it got is kept.
func TestRunVanishedInTrial(t *testing.T) {
	needRun(t)
	for _, engine := range []string{"io_uring", "linux-aio", "psync"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel() // Most of the time goes by waiting for samples.
			dir := t.TempDir()
			_, disk := disktest.Disk(t, disktest.Options{})
			plan := `
name: vanished
workloads: {w: {rw: randrw, bs: 4KiB, iodepth: 4, direct: true, size: 1MiB, runtime: 30s}}
io_engine: ` + engine + `
engines: [host]
places: {disk: {kind: dir, path: ` + disk + `}}
blocks: 1
`
			gone := make(chan error, 1)
			go func() {
				measuringFor(dir)
				gone <- disktest.Shutdown(disk)
			}()
			r := apart(t, t.Context(), dir, plan, "run", "-")
			if err := <-gone; err != nil {
				t.Fatalf("the device did not go away: %v", err)
			}
			if r.status != exitCellsFailed {
				t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
			}
			run, trials := records(t, dir)
			wantFailed(t, trials, 1, "input/output error", disk)
			first := trials[0]
			if first.Phase != "run" || !strings.Contains(first.Progress, "operations and") || strings.HasPrefix(first.Progress, "0 ") {
				t.Errorf("failed in phase %q, got as far as %q", first.Phase, first.Progress)
			}
			if first.Wall > first.Spec.Job.Runtime {
				t.Errorf("the trial went on for %v", first.Wall)
			}
			if !strings.Contains(unwrap(r.stdout), "input/output error") || !strings.Contains(r.stderr, "disk") {
				t.Errorf("not told; stdout:\n%s\nstderr:\n%s", r.stdout, r.stderr)
			}
			sweepVanished(t, dir, disk, run.ID)
		})
	}
}

// TestRunFullInTheMiddle: the place is full in the middle of a trial, not at its layout.
func TestRunFullInTheMiddle(t *testing.T) {
	needRun(t)
	dir := t.TempDir()
	const plan = `
name: full
workloads: {append: {kind: append, bs: 64KiB, count: 1000}}
engines: [host, oci]
places: {dir: {}, tmpfs: {size: 8MiB}}
blocks: 1
`
	r := plimsoll(t, t.Context(), dir, plan, "run", "-")
	if r.status != exitCellsFailed {
		t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
	}
	_, trials := records(t, dir)
	places := byPlace(trials)
	wantDone(t, places["dir"], 1)
	wantFailed(t, places["tmpfs"], 2, "no space left on device")
	for _, tr := range places["tmpfs"] {
		// 8 MiB hold 128 of them at most.
		if tr.Phase != "run" || !strings.Contains(tr.Progress, "operations and") || strings.HasPrefix(tr.Progress, "1000 ") {
			t.Errorf("%s failed in phase %q, got as far as %q", tr.Key, tr.Phase, tr.Progress)
		}
		if tr.Status == record.Failed && tr.Value != 0 {
			t.Errorf("%s failed with a value of %v", tr.Key, tr.Value)
		}
	}
	checkClean(t, dir)
}
