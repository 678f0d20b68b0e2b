package main

import (
	"strings"
	"testing"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/texttest"
)

// roomPlan has a place with plenty of room, and one on a small file system.
const roomPlan = `
name: room
workloads:
  fits:  {rw: read, bs: 1MiB, size: 8MiB}
  twice: {rw: write, bs: 1MiB, size: 8MiB}
  big:   {rw: read, bs: 1MiB, size: 40MiB}
engines: [host]
places:
  dir:   {}
  small: {kind: dir, path: SMALL}
baseline: {engine: host, place: dir}
blocks: 1
`

// TestRunTooLittleRoom: cells whose files don't fit are skipped before anything is
// laid out, with what they need and what there is, and the others are measured.
func TestRunTooLittleRoom(t *testing.T) {
	needRun(t)
	small := disktest.Tmpfs(t, "size=48m")
	plan := strings.Replace(roomPlan, "SMALL", small, 1)
	dir := t.TempDir()
	// Whether a plan fits depends on the machine, and is no fault of the plan.
	if r := plimsoll(t, t.Context(), dir, plan, "plan", "check", "-"); r.status != exitDone {
		t.Errorf("plan check: %+v", r)
	}
	r := plimsoll(t, t.Context(), dir, plan, "run", "-")
	if r.status != exitDone {
		t.Fatalf("status %d, want %d: a skipped cell is no failure\n%s", r.status, exitDone, r.stderr)
	}
	run, trials := records(t, dir)
	wantDone(t, trials, 8)
	if len(run.Skipped) != 1 || run.Skipped[0].Cell.Workload != "big" || run.Skipped[0].Cell.Place != "small" {
		t.Fatalf("skipped %+v, want big/host/small", run.Skipped)
	}
	// The two small jobs share a file.
	want := "too little space: its files need 40 MiB, those of earlier cells 8 MiB, but only 48 MiB are free on the file system of " + small
	if why := run.Skipped[0].Reason; !strings.HasPrefix(why, want) || !strings.Contains(why, "another path") {
		t.Errorf("skipped for %q, want %q", why, want)
	}
	checkClean(t, dir)
}

// TestRunNoRoomAtAll: a run without any cell that fits is not recorded.
func TestRunNoRoomAtAll(t *testing.T) {
	needRun(t)
	dir := t.TempDir()
	r := plimsoll(t, t.Context(), dir, "name: huge\nworkloads: {w: {rw: read, bs: 1MiB, size: 500TiB, runtime: 1s}}\nengines: [host, oci]\nplaces: {dir: {}, layer: {}, bind: {}}\nblocks: 1\n", "run", "-")
	if r.status != exitCannot {
		t.Errorf("status %d, want %d", r.status, exitCannot)
	}
	texttest.Has(t, r.stderr, []string{"skipped host/dir: too little space: its files need 500 TiB, but only ", "skipped oci/layer: too little space"})
	if r := plimsollResults(dir, "ls", "--json"); r.status != exitDone || r.stdout != "[]\n" {
		t.Errorf("recorded: %s", r.stdout)
	}
}

// TestRunMissingPath: a folder that a cell needs is an error at the start; one of a place
// that is not measured is not.
func TestRunMissingPath(t *testing.T) {
	needRun(t)
	plan := "name: p\nworkloads: {w: {kind: append, count: 5}}\nengines: [host]\nplaces: {dir: {}, gone: {kind: dir, path: /nowhere/at/all}}\nblocks: 1\n"
	dir := t.TempDir()
	plimsoll(t, t.Context(), dir, plan, "run", "-").wantError(t, exitUsage, "place gone: /nowhere/at/all does not exist: make the folder first")
	if r := plimsoll(t, t.Context(), dir, plan, "plan", "check", "-"); r.status != exitDone {
		t.Errorf("plan check: status %d, %s", r.status, r.stderr)
	}
	if r := plimsoll(t, t.Context(), dir, plan, "run", "-", "--only", "place=dir"); r.status != exitDone {
		t.Errorf("without the place: status %d, %s", r.status, r.stderr)
	}
	if run, trials := records(t, dir); run.Status != record.Done || len(trials) != 2 {
		t.Errorf("run %s with %d trials", run.Status, len(trials))
	}
}
