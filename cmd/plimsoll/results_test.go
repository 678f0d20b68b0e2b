package main

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/results"
	"plimsoll/internal/testkit/golden"
)

func TestResultsRefuses(t *testing.T) {
	state, _ := recordedRuns(t)
	empty := filepath.Join(t.TempDir(), "none")
	for _, tt := range []struct {
		state string
		args  []string
		want  string
	}{
		{state, []string{"frobnicate"}, `no command "frobnicate"`},
		{state, []string{"ls", "x"}, "takes no argument"},
		{state, []string{"ls", "--colour"}, "unknown flag"},
		{state, []string{"show"}, "takes one run"},
		{state, []string{"show", "nonesuch"}, "not known"},
		{state, []string{"show", "2026112"}, "ambiguous: " + badRun},
		{state, []string{"show", "last", "--block", "1"}, "--block needs --trial"},
		{state, []string{"show", "last", "--block", "1", "--trial", ""}, "needs the key"},
		{state, []string{"show", "last", "--block", "0", "--trial", "mixed/host/dir"}, "blocks count from 1"},
		{state, []string{"show", "last", "--block", "9", "--trial", "mixed/host/dir"}, "has no trial mixed/host/dir in block 9"},
		{state, []string{"export"}, "needs a run"},
		{state, []string{"export", "last", "--format", "xml"}, `unknown format "xml"`},
		{state, []string{"export", "last", "-o", filepath.Join(state, "x.pdf")}, `unknown format "pdf"`},
		{state, []string{"export", "last~3"}, "not known"},
		{state, []string{"rm"}, "needs a run"},
		{state, []string{"rm", "--all", "last"}, "not both"},
		{state, []string{"rm", "last"}, "give --yes"},
		{state, []string{"rm", "--all"}, "give --yes"},
		{state, []string{"rm", "last", "nonesuch", "--yes"}, "not known"},
		{empty, []string{"show", "last"}, "no run is recorded in " + empty},
		{empty, []string{"export", "last"}, "no run is recorded"},
		{empty, []string{"rm", "last", "--yes"}, "no run is recorded"},
	} {
		status, out, talk := plimsollResults(tt.state, tt.args...)
		if status != exitUsage || out != "" || !strings.Contains(talk, tt.want) {
			t.Errorf("results %v: status %d, stdout %q, stderr %q, want status 2 and %q", tt.args, status, out, talk, tt.want)
		}
	}
	if ids, err := openState(t, state).IDs(); err != nil || len(ids) != 3 {
		t.Errorf("a refused command removed something: %v, %v", ids, err)
	}
	if _, err := os.Stat(empty); err == nil {
		t.Error("looking at results made a state folder")
	}
}

func TestResultsOfNothing(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "none")
	if status, out, talk := plimsollResults(empty, "ls"); status != exitDone || out != "" || !strings.Contains(talk, "No run is recorded") {
		t.Errorf("ls: status %d, stdout %q, stderr %q", status, out, talk)
	}
	if status, out, _ := plimsollResults(empty, "ls", "--json"); status != exitDone || out != "[]\n" {
		t.Errorf("ls --json: status %d, stdout %q", status, out)
	}
	if status, _, talk := plimsollResults(empty, "rm", "--all", "--yes"); status != exitDone || !strings.Contains(talk, "No run is recorded") {
		t.Errorf("rm --all: status %d, stderr %q", status, talk)
	}
	if status, _, talk := plimsollResults(t.TempDir()+"/\x00", "ls"); status != exitFailure {
		t.Errorf("ls of a folder that can't be: status %d, %q", status, talk)
	}
}

func TestResultsLs(t *testing.T) {
	state, _ := recordedRuns(t)
	prints(t, "results-ls.txt", state, "ls")
	release, err := openState(t, state).Own(badRun)
	mustDo(t, err)
	defer release()
	_, out, _ := plimsollResults(state, "ls", "--json", "--plan", "mixed")
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
	status, out, talk := plimsollResults(state, args...)
	if status != exitDone || talk != "" {
		t.Errorf("%v: status %d, stderr %q", args, status, talk)
	}
	golden.Check(t, file, out)
}

func TestResultsShow(t *testing.T) {
	state, trials := recordedRuns(t)
	prints(t, "results-show.txt", state, "show", "last")
	// Its Order is 100: cells were skipped.
	prints(t, "results-show-trial.txt", state, "show", badRun, "--trial", "mixed/host/dir", "--block", "2")
	prints(t, "results-show-attempts.txt", state, "show", badRun, "--trial", "mixed/host/volume", "--block", "2")
	prints(t, "results-show-plan.txt", state, "show", badRun, "--plan")
	_, out, _ := plimsollResults(state, "show", badRun, "--trial", "mixed/host/dir", "--block", "1", "--json")
	var all []record.Trial
	mustDo(t, json.Unmarshal([]byte(out), &all))
	if d := cmp.Diff(trials[:1], all); d != "" {
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
	status, out, talk := plimsollResults(state, "ls")
	if status != exitFailure || !strings.Contains(out, badRun) || strings.Contains(out, oldRun) || !strings.Contains(talk, "the record of run "+oldRun+" is damaged") {
		t.Errorf("ls: status %d, stdout %q, stderr %q", status, out, talk)
	}
	status, out, talk = plimsollResults(state, "show", badRun)
	if status != exitFailure || !strings.Contains(out, "mixed/host/dir") || !strings.Contains(talk, "trial mixed/host/volume, block 1, attempt 1 is damaged") {
		t.Errorf("show: status %d, stdout %q, stderr %q", status, out, talk)
	}
	file := filepath.Join(state, "x.json")
	status, _, talk = plimsollResults(state, "export", badRun, oldRun, "-o", file)
	if status != exitFailure || !strings.Contains(talk, "2 records can't be read") {
		t.Errorf("export: status %d, stderr %q", status, talk)
	}
	var got exported
	b, err := os.ReadFile(file)
	mustDo(t, err)
	mustDo(t, json.Unmarshal(b, &got))
	if len(got.Runs) != 2 || len(got.Runs[0].Trials) != 3 || len(got.Runs[1].Trials) != 12 {
		t.Errorf("the export lacks what can be read")
	}
	if status, _, talk := plimsollResults(state, "rm", "--all", "--yes"); status != exitDone {
		t.Errorf("rm --all: status %d, stderr %q", status, talk)
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
	for _, args := range [][]string{{"rm", oldRun, "last", "--yes"}, {"rm", "--all", "--yes"}} {
		if status, _, talk := plimsollResults(state, args...); status != exitFailure || !strings.Contains(talk, "run "+badRun+" is being measured") {
			t.Errorf("results %v of a run that is alive: status %d, stderr %q", args, status, talk)
		}
	}
	if ids, _ := db.IDs(); len(ids) != 3 {
		t.Errorf("a refused rm left %v", ids)
	}
	mustDo(t, release())
	status, out, talk := plimsollResults(state, "rm", "last", oldRun, badRun, "--yes")
	if want := "removed 2 runs (" + badRun + ", " + oldRun + ") with 16 trials\n"; status != exitDone || out != "" || talk != want {
		t.Errorf("rm: status %d, stdout %q, stderr %q, want %q", status, out, talk, want)
	}
	if ids, _ := db.IDs(); len(ids) != 1 || ids[0] != newRun {
		t.Errorf("rm left %v", ids)
	}
}
