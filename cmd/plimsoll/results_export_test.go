package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/measure/export"
	"plimsoll/internal/measure/record"
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
	status, out, talk := plimsollResults(state, "export", badRun, oldRun, "last", "--format", "json")
	if status != exitDone || talk != "" {
		t.Fatalf("status %d, stderr %q", status, talk)
	}
	var got exported
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	mustDo(t, d.Decode(&got))
	if got.SchemaVersion != export.Version || len(got.Runs) != 2 || got.Runs[1].Run.ID != oldRun || len(got.Runs[1].Trials) != 12 {
		t.Errorf("version %d, %d runs", got.SchemaVersion, len(got.Runs))
	}
	run, err := openState(t, state).Run(badRun)
	mustDo(t, err)
	if d := cmp.Diff(run, got.Runs[0].Run); d != "" {
		t.Errorf("run (-want +got):\n%s", d)
	}
	if d := cmp.Diff(trials, got.Runs[0].Trials); d != "" {
		t.Errorf("trials (-want +got):\n%s", d)
	}
	_, out, _ = plimsollResults(state, "show", badRun, "--json")
	got = exported{}
	mustDo(t, json.Unmarshal([]byte(out), &got))
	if len(got.Runs) != 1 || len(got.Runs[0].Trials) != 5 {
		t.Errorf("show --json lacks an attempt:\n%s", out)
	}
}

func TestResultsExportLines(t *testing.T) {
	state, trials := recordedRuns(t)
	file := filepath.Join(t.TempDir(), "x.jsonl")
	if status, out, talk := plimsollResults(state, "export", "last", oldRun, "-o", file, "--attempts"); status != exitDone || out != "" || talk != "wrote "+file+"\n" {
		t.Fatalf("status %d, stdout %q, stderr %q", status, out, talk)
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
	if len(got) != 5 || got[3].Error != "killed: out of memory" {
		t.Fatalf("%d trials, want 5 with the attempts", len(got))
	}
	if d := cmp.Diff(trials, slices.Delete(got, 3, 4)); d != "" {
		t.Errorf("trials (-want +got):\n%s", d)
	}
}

func TestResultsExportCSV(t *testing.T) {
	state, _ := recordedRuns(t)
	file := filepath.Join(t.TempDir(), "x.CSV")
	if status, _, talk := plimsollResults(state, "export", badRun, newRun, "-o", file); status != exitDone {
		t.Fatalf("status %d, stderr %q", status, talk)
	}
	f, err := os.Open(file)
	mustDo(t, err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	mustDo(t, err)
	if len(rows) != 1+4+12 {
		t.Fatalf("%d rows", len(rows))
	}
	row := func(i int) map[string]string {
		m := make(map[string]string)
		for j, name := range rows[0] {
			if rows[i][j] != "" {
				m[name] = rows[i][j]
			}
		}
		return m
	}
	want := map[string]string{
		"run": badRun, "block": "0", "order": "0", "key": "mixed/host/dir", "workload": "mixed", "engine": "host", "place": "dir", "limits": "none",
		"clients": "2", "control": "false", "started": "2026-11-23T09:00:00Z", "status": "done", "metric": "IOPS", "unit": "1/s", "value": "1500.5",
		"wall_ns": "6000000000", "overhead_ns": "80000000", "session_open_ns": "0", "start_skew_ns": "0", "io_engine": "psync", "elapsed_ns": "6000000000",
		"class": "read+write", "ops": "3000", "p50_ns": "100000", "p90_ns": "900000", "p99_ns": "900000", "p999_ns": "900000", "min_ns": "100000", "max_ns": "900000",
		"mean_ns": "366666.7", "syncs": "20", "sync_p50_ns": "8000000", "sync_p99_ns": "8000000", "user_ns": "2000000000", "system_ns": "4000000000", "throttled_ns": "0",
		"app_read_bytes": "4194304", "app_written_bytes": "2097152", "proc_read_bytes": "4194304", "proc_written_bytes": "2097152",
		"device": "vda", "device_read_bytes": "4194304", "device_written_bytes": "3145728", "device_busy_ns": "1000000000", "fs_type": "ext4", "runtime": "runc 1.1.5", "kernel": "6.1.0",
		"doubts": "1", "notes": "2", "warnings": "note (clock): The clock was set.; note (clock): The clock was set.; doubt (steady): The rate fell by 10 % to 1.5 KiB.",
	}
	got := row(1)
	for _, name := range []string{"p50_ns", "p90_ns", "p99_ns", "p999_ns"} { // Within the width of a bucket.
		if len(got[name]) == len(want[name]) {
			got[name] = want[name]
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("row of a trial (-want +got):\n%s", d)
	}
	failed := row(4)
	if failed["status"] != "failed" || failed["value"] != "" || failed["ops"] != "" || failed["app_read_bytes"] != "" || failed["error"] != "'=killed again" || failed["phase"] != "measure" {
		t.Errorf("row of a failed trial: %v", failed)
	}
}
