package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/record"
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
		plan := "name: flushes\nengines: [host]\nblocks: 2\nplaces: {dir: {path: " + dir + `}}
workloads:
  randread: {rw: randread, bs: 4KiB, size: 8MiB, direct: true, runtime: 300ms}
  wal: {kind: wal, runtime: 300ms}
`
		if r := plimsoll(t, t.Context(), state, plan, "run", "-"); r.status != exitDone {
			t.Fatalf("status %d: %s", r.status, r.stderr)
		}
		_, trials := records(t, state)
		// A busy machine may keep the other program from some windows.
		for _, workload := range []string{"randread", "wal"} {
			its := slices.DeleteFunc(slices.Clone(trials), func(tr record.Trial) bool { return tr.Cell.Workload != workload })
			if doubted(its, check.Neighbour, "flushes of "+name+" in the window were not this worker's") > 0 {
				continue
			}
			for _, tr := range its {
				t.Logf("%+v", tr.Truth)
			}
			t.Errorf("none of %d trials of %s is said to have had a neighbour that flushed %s", len(its), workload, name)
		}
	}
}
