package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/measure/export"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/golden"
)

// exported is the JSON form, as a reader would declare it.
type exported struct {
	SchemaVersion int `json:"schema_version"`
	Runs          []struct {
		Run    record.Run     `json:"run"`
		Trials []record.Trial `json:"trials"`
	} `json:"runs"`
}

func TestResultsExportJSON(t *testing.T) {
	state, trials := recordedRuns(t)
	r := plimsollResults(state, "export", badRun, oldRun, "last", "--format", "json")
	if r.status != exitDone || r.stderr != "" {
		t.Fatalf("status %d, stderr %q", r.status, r.stderr)
	}
	var got exported
	d := json.NewDecoder(strings.NewReader(r.stdout))
	d.DisallowUnknownFields()
	mustDo(t, d.Decode(&got))
	if got.SchemaVersion != export.Version {
		t.Errorf("version %d, want %d", got.SchemaVersion, export.Version)
	}
	if len(got.Runs) != 2 {
		t.Fatalf("%d runs, want 2", len(got.Runs))
	}
	if other := got.Runs[1]; other.Run.ID != oldRun || len(other.Trials) != 12 {
		t.Errorf("run %s with %d trials, want %s with 12", other.Run.ID, len(other.Trials), oldRun)
	}
	run, err := openState(t, state).Run(badRun)
	mustDo(t, err)
	if d := cmp.Diff(run, got.Runs[0].Run); d != "" {
		t.Errorf("run (-want +got):\n%s", d)
	}
	if d := cmp.Diff(trials, got.Runs[0].Trials); d != "" {
		t.Errorf("trials (-want +got):\n%s", d)
	}
	out := plimsollResults(state, "show", badRun, "--json").stdout
	got = exported{}
	mustDo(t, json.Unmarshal([]byte(out), &got))
	if len(got.Runs) != 1 || len(got.Runs[0].Trials) != len(trials) {
		t.Errorf("show --json lacks a trial:\n%s", out)
	}
}

func TestResultsExportLines(t *testing.T) {
	state, trials := recordedRuns(t)
	file := filepath.Join(t.TempDir(), "x.jsonl")
	want := result{exitDone, "", "wrote " + file + "\n"}
	if r := plimsollResults(state, "export", "last", oldRun, "-o", file); r != want {
		t.Fatalf("%+v, want %+v", r, want)
	}
	b, err := os.ReadFile(file)
	mustDo(t, err)
	var runs []string
	var got []record.Trial
	for line := range strings.Lines(string(b)) {
		var l export.Line
		mustDo(t, json.Unmarshal([]byte(line), &l))
		switch {
		case l.Run != nil && l.SchemaVersion == export.Version:
			runs = append(runs, l.Run.ID)
		case l.Trial != nil && l.Trial.Run == badRun:
			got = append(got, *l.Trial)
		}
	}
	if d := cmp.Diff([]string{badRun, oldRun}, runs); d != "" {
		t.Errorf("runs (-want +got):\n%s", d)
	}
	if d := cmp.Diff(trials, got); d != "" {
		t.Errorf("trials (-want +got):\n%s", d)
	}
}

// TestResultsExportCSV: a file's name says its form, in letters of any case.
func TestResultsExportCSV(t *testing.T) {
	state, _ := recordedRuns(t)
	file := filepath.Join(t.TempDir(), "x.CSV")
	if r := plimsollResults(state, "export", badRun, newRun, "-o", file); r.status != exitDone {
		t.Fatalf("status %d, stderr %q", r.status, r.stderr)
	}
	b, err := os.ReadFile(file)
	mustDo(t, err)
	golden.Check(t, "results-export.csv", string(b))
}
