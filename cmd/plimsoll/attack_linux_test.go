package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/leaktest"
	"plimsoll/internal/record"
)

// TestRunDatabaseRemoved: a run whose database is removed stops and says where its
// records are; they can be read, and the run goes on there.
func TestRunDatabaseRemoved(t *testing.T) {
	needRun(t)
	dir := t.TempDir()
	cmd := startPlimsoll(t, dir, "run", "-", "--blocks", "20")
	files, err := filepath.Glob(filepath.Join(dir, "plimsoll.db*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	cmd.Wait()
	said := cmd.Stderr.(*bytes.Buffer).String()
	saved, err := filepath.Glob(filepath.Join(dir, "rescued-*"))
	if code := cmd.ProcessState.ExitCode(); code != exitFailure || err != nil || len(saved) != 1 || strings.Count(said, "no longer there") != 1 || !strings.Contains(said, saved[0]) {
		t.Fatalf("status %d, saved %v, want 1 and one folder, named once:\n%s", code, saved, said)
	}
	run, trials := records(t, saved[0])
	if run.Status != record.Interrupted || len(trials) < 3 {
		t.Errorf("the saved run is %s with %d trials, want what was measured", run.Status, len(trials))
	}
	if r := plimsoll(t, t.Context(), saved[0], "", "report", "last"); r.status != exitDone {
		t.Errorf("report of what was saved: status %d\n%s", r.status, r.stderr)
	}
	leaktest.Check(t, dir)
}
