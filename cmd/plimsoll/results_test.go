package main

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/results"
	"plimsoll/internal/testkit/golden"
)

// TestResultsRefuses: what can't be meant is refused, and nothing is made or removed.
func TestResultsRefuses(t *testing.T) {
	state, _ := recordedRuns(t)
	empty := filepath.Join(t.TempDir(), "none")
	files := t.TempDir()
	torn, newer, none := filepath.Join(files, "torn.json"), filepath.Join(files, "newer.json"), filepath.Join(files, "none.json")
	mustDo(t, os.WriteFile(torn, []byte(`{"schema_version":2,"reports":[{"ru`), 0o600))
	mustDo(t, os.WriteFile(newer, []byte(`{"schema_version":99,"reports":[]}`), 0o600))
	cut := filepath.Join(files, "cut.json")
	mustDo(t, os.WriteFile(cut, []byte(`{"format":"plimsoll-share","version":1,"ha`), 0o600))
	mustDo(t, os.WriteFile(none, []byte(`{"schema_version":2,"reports":[]}`), 0o600))
	var said transcript
	for _, tt := range []struct {
		state string
		args  []string
	}{
		{state, []string{"frobnicate"}},
		{state, []string{"ls", "x"}},
		{state, []string{"ls", "--colour"}},
		{state, []string{"show"}},
		{state, []string{"show", "nonesuch"}},
		{state, []string{"show", "2026112"}},
		{state, []string{"show", "last", "--block", "1"}},
		{state, []string{"show", "last", "--block", "1", "--trial", ""}},
		{state, []string{"show", "last", "--block", "0", "--trial", "mixed/host/dir"}},
		{state, []string{"show", "last", "--block", "9", "--trial", "mixed/host/dir"}},
		{state, []string{"compare", "last"}},
		{state, []string{"compare", "last", "last"}},
		{state, []string{"compare", "last~1", "nonesuch"}},
		{state, []string{"compare", "last~1", "last~2", "--fail-if", "slower"}},
		{state, []string{"compare", "last~1", "last~2", "--fail-if", ""}},
		{state, []string{"compare", "last", torn}},
		{state, []string{"compare", "last", newer}},
		{state, []string{"compare", "last", none}},
		{state, []string{"export"}},
		{state, []string{"export", "last", "--format", "xml"}},
		{state, []string{"export", "last", "-o", filepath.Join(state, "x.pdf")}},
		{state, []string{"export", "last", "--json", "--format", "csv"}},
		{state, []string{"export", "last~3"}},
		{state, []string{"export", "last", "--share", "--format", "csv"}},
		{state, []string{"export", "last", "--share", "-o", filepath.Join(state, "x.csv")}},
		{state, []string{"export", "last~1", "--share"}},
		{state, []string{"export", "last", "--share"}},
		{state, []string{"check"}},
		{state, []string{"check", none, none}},
		{state, []string{"check", filepath.Join(files, "nonesuch.json")}},
		{state, []string{"check", files}},
		{state, []string{"compare", "last", cut}},
		{state, []string{"rm"}},
		{state, []string{"rm", "--all", "last"}},
		{state, []string{"rm", "last"}},
		{state, []string{"rm", "--all"}},
		{state, []string{"rm", "last", "nonesuch", "--yes"}},
		{empty, []string{"show", "last"}},
		{empty, []string{"export", "last"}},
		{empty, []string{"rm", "last", "--yes"}},
	} {
		r := plimsollResults(tt.state, tt.args...)
		if r.status != exitUsage {
			t.Errorf("results %v: status %d, want %d", tt.args, r.status, exitUsage)
		}
		said.add(append([]string{"results"}, tt.args...), r)
	}
	said.check(t, "results-refuses.txt", golden.Text(state, "STATE"), golden.Text(empty, "EMPTY"), golden.Text(files, "FILES"))
	if ids, err := openState(t, state).IDs(); err != nil || len(ids) != 3 {
		t.Errorf("a refused command removed something: %v, %v", ids, err)
	}
	if _, err := os.Stat(empty); err == nil {
		t.Error("looking at results made a state folder")
	}
}

func TestResultsOfNothing(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "none")
	var said transcript
	for _, args := range [][]string{{"ls"}, {"ls", "--json"}, {"rm", "--all", "--yes"}} {
		said.add(append([]string{"results"}, args...), plimsollResults(empty, args...))
	}
	said.check(t, "results-nothing.txt", golden.Text(empty, "EMPTY"))
	if r := plimsollResults(t.TempDir()+"/\x00", "ls"); r.status != exitFailure {
		t.Errorf("ls of a folder that can't be: status %d, %q", r.status, r.stderr)
	}
}

func TestResultsLs(t *testing.T) {
	state, _ := recordedRuns(t)
	prints(t, "results-ls.txt", state, "ls")
	release, err := openState(t, state).Own(badRun)
	mustDo(t, err)
	defer release()
	out := plimsollResults(state, "ls", "--json", "--plan", "mixed").stdout
	var rows []results.Row
	mustDo(t, json.Unmarshal([]byte(out), &rows))
	wantRows := []results.Row{{ID: badRun, Plan: "mixed", Started: time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC), Status: record.Running, Quick: true, Seed: 7,
		Blocks: 3, BlocksDone: 2, Trials: 4, Failed: 1, Command: "plimsoll run mixed.yaml --seed 7"}}
	if d := cmp.Diff(wantRows, rows); d != "" {
		t.Errorf("ls --json of a run that is alive (-want +got):\n%s", d)
	}
}

// prints compares what "plimsoll results" prints with a golden file, and its status with 0.
func prints(t *testing.T, file, state string, args ...string) {
	t.Helper()
	r := plimsollResults(state, args...)
	if r.status != exitDone || r.stderr != "" {
		t.Errorf("%v: status %d, stderr %q", args, r.status, r.stderr)
	}
	golden.Check(t, file, r.stdout, golden.Text(state, "STATE"))
}

func TestResultsShow(t *testing.T) {
	state, trials := recordedRuns(t)
	prints(t, "results-show.txt", state, "show", "last")
	// Its Order is 100: cells were skipped.
	prints(t, "results-show-trial.txt", state, "show", badRun, "--trial", "mixed/host/dir", "--block", "2")
	prints(t, "results-show-failed.txt", state, "show", badRun, "--trial", "mixed/host/volume", "--block", "2")
	prints(t, "results-show-plan.txt", state, "show", badRun, "--plan")
	out := plimsollResults(state, "show", badRun, "--trial", "mixed/host/dir", "--block", "1", "--json").stdout
	var got record.Trial
	mustDo(t, json.Unmarshal([]byte(out), &got))
	if d := cmp.Diff(trials[0], got); d != "" {
		t.Errorf("show --trial --json (-want +got):\n%s", d)
	}
}

// TestResultsDamaged shows and exports what is left.
func TestResultsDamaged(t *testing.T) {
	state, _ := recordedRuns(t)
	raw, err := sql.Open("sqlite", filepath.Join(state, "plimsoll.db"))
	mustDo(t, err)
	defer raw.Close()
	_, err = raw.Exec("UPDATE trials SET record = x'00' WHERE run = ? AND block = 0 AND ord = 50", badRun)
	mustDo(t, err)
	_, err = raw.Exec("UPDATE runs SET record = '{' WHERE id = ?", oldRun)
	mustDo(t, err)
	var said transcript
	file := filepath.Join(state, "x.json")
	for _, args := range [][]string{{"ls"}, {"show", badRun}, {"export", badRun, oldRun, "-o", file}} {
		said.add(append([]string{"results"}, args...), plimsollResults(state, args...))
	}
	said.check(t, "results-damaged.txt", golden.Text(state, "STATE"))
	var got exported
	b, err := os.ReadFile(file)
	mustDo(t, err)
	mustDo(t, json.Unmarshal(b, &got))
	if len(got.Runs) != 2 {
		t.Fatalf("the export has %d runs, want 2", len(got.Runs))
	}
	for i, want := range []int{3, 12} {
		if n := len(got.Runs[i].Trials); n != want {
			t.Errorf("run %d has %d trials in the export, want %d", i, n, want)
		}
	}
	_, err = raw.Exec("UPDATE trials SET record = x'00'")
	mustDo(t, err)
	r := plimsollReport(state, badRun)
	r.wantError(t, exitFailure, "there is nothing to report, because no record can be read: 4 records")
	if r.stdout != "" {
		t.Errorf("the report of a run without a readable record: %s", r.stdout)
	}
	if r := plimsollResults(state, "rm", "--all", "--yes"); r.status != exitDone {
		t.Errorf("rm --all: status %d, stderr %q", r.status, r.stderr)
	}
	if ids, err := openState(t, state).IDs(); err != nil || len(ids) != 0 {
		t.Errorf("rm --all left %v, %v", ids, err)
	}
}

func TestResultsRm(t *testing.T) {
	state, _ := recordedRuns(t)
	db := openState(t, state)
	release, err := db.Own(badRun)
	mustDo(t, err)
	var said transcript
	rm := func(args ...string) {
		args = append([]string{"rm"}, args...)
		said.add(append([]string{"results"}, args...), plimsollResults(state, args...))
	}
	// The run is alive.
	rm(oldRun, "last", "--yes")
	rm("--all", "--yes")
	if ids, _ := db.IDs(); len(ids) != 3 {
		t.Errorf("a refused rm left %v", ids)
	}
	mustDo(t, release())
	rm("last", oldRun, badRun, "--yes")
	said.check(t, "results-rm.txt", golden.Text(state, "STATE"))
	if ids, _ := db.IDs(); len(ids) != 1 || ids[0] != newRun {
		t.Errorf("rm left %v", ids)
	}
}
