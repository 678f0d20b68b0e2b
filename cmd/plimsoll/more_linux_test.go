package main

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/golden"
)

// TestRunMoreBlocks: a complete run takes more blocks, in the order that an unbroken run of so
// many has; what it had stays as it was.
func TestRunMoreBlocks(t *testing.T) {
	needRun(t)
	dir := t.TempDir()
	if r := plimsoll(t, t.Context(), dir, small, "run", "-", "--only", "engine=host", "--blocks", "2", "--seed", "7"); r.status != exitDone {
		t.Fatalf("status %d:\n%s", r.status, r.stderr)
	}
	before, old := records(t, dir)
	var said transcript
	for _, args := range [][]string{
		{"run", "--resume", "last", "--blocks", "1"},
		{"run", "--resume", "last", "--blocks", "2"},
		{"run", "--resume", "last", "--blocks", "none"},
		{"run", "--resume", "--blocks", "6"},
	} {
		said.add(args, plimsoll(t, t.Context(), dir, "", args...))
	}
	said.check(t, "run-more-refuses.txt", golden.Text(before.ID, "RUN"), golden.Text(dir, "STATE"))

	r := plimsoll(t, t.Context(), dir, "", "run", "--resume", before.ID, "--blocks", "6")
	if r.status != exitDone {
		t.Fatalf("status %d:\n%s", r.status, r.stderr)
	}
	after, all := records(t, dir)
	cells := len(old) / 2
	if after.ID != before.ID || after.Seed != before.Seed {
		t.Errorf("run %s with seed %d, want %s with %d", after.ID, after.Seed, before.ID, before.Seed)
	}
	if after.Status != record.Done || after.Quick {
		t.Errorf("the run is %s, quick %t; want done, false", after.Status, after.Quick)
	}
	if after.Blocks != 6 || len(all) != 6*cells {
		t.Errorf("%d blocks, %d trials; want 6, %d", after.Blocks, len(all), 6*cells)
	}
	for i, tr := range all {
		if i < len(old) && (tr.Key != old[i].Key || !tr.Started.Equal(old[i].Started)) {
			t.Errorf("trial %d was %s of %s, and is %s of %s", i, old[i].Key, old[i].Started, tr.Key, tr.Started)
		}
		if tr.Block != i/cells {
			t.Errorf("trial %d is of block %d, want %d", i, tr.Block, i/cells)
		}
	}
	if !strings.Contains(after.PlanText, "blocks: 6") || !strings.Contains(r.stderr, fmt.Sprintf("%d of %d trials left", 4*cells, 6*cells)) {
		t.Errorf("the plan or the progress has another number of blocks:\n%s\n%s", after.PlanText, r.stderr)
	}
	checkClean(t, dir)
}
