package main

import (
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/measure/check"
	"plimsoll/internal/testkit/disktest"
)

// flush syncs a file of a folder that has nothing to write, over and over, until the end of the test: the disk is flushed, and no bytes move.
func flush(t *testing.T, folder string) {
	t.Helper()
	f, err := os.Create(filepath.Join(folder, "flushed"))
	mustDo(t, err)
	_, err = f.WriteString("x")
	mustDo(t, err)
	t.Cleanup(func() { f.Close() })
	untilEnd(t, func() bool { return f.Sync() == nil })
}

// TestLieNeighbourFlushes: another program does nothing but sync, on the place's disk or on the one beneath it: everything there waits for the flushes,
// which move no bytes.
func TestLieNeighbourFlushes(t *testing.T) {
	needRun(t)
	for _, beneath := range []bool{false, true} {
		device, dir := disktest.Disk(t, disktest.Options{Direct: true})
		name, other := filepath.Base(device), dir
		if beneath {
			inner := disktest.Loop(t, disktest.ImageIn(t, dir, 40<<20), true)
			disktest.Format(t, inner, "ext4")
			dir = disktest.Mount(t, inner, "ext4", 0, "")
		}
		flush(t, other)
		state := t.TempDir()
		plan := "name: flushes\nengines: [host]\nblocks: 1\nplaces: {dir: {path: " + dir + `}}
workloads:
  randread: {rw: randread, bs: 4KiB, size: 8MiB, direct: true, runtime: 300ms}
  wal: {kind: wal, runtime: 300ms}
`
		if r := plimsoll(t, t.Context(), state, plan, "run", "-"); r.status != exitDone {
			t.Fatalf("status %d: %s", r.status, r.stderr)
		}
		_, trials := records(t, state)
		if n := doubted(trials, check.Neighbour, "flushes of "+name+" in the window were not this worker's"); 2*n <= len(trials) {
			for _, tr := range trials {
				t.Logf("%s: %+v", tr.Cell.Workload, tr.Truth)
			}
			t.Errorf("%d of %d trials are said to have had a neighbour that flushed %s", n, len(trials), name)
		}
	}
}
