package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/golden"
)

// recorded makes a state folder with two runs of two cells.
func recorded(t *testing.T) (state string) {
	t.Helper()
	state = t.TempDir()
	db, err := store.Open(filepath.Join(state, "plimsoll.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for i, id := range []string{"20261121-153000-3f9a", "20261122-090000-aaaa"} {
		run := record.Run{
			ID: id, Plan: "places", Seed: 1, Blocks: 6, Status: record.Done, Margin: 0.05,
			Started: time.Date(2026, 11, 21+i, 9, 0, 0, 0, time.UTC), Machine: record.Machine{Hostname: "quay", CPUs: 2 << i},
			Baseline: map[string]string{"wal": "wal/host/dir"},
		}
		if err := db.PutRun(run); err != nil {
			t.Fatal(err)
		}
		for b := range 6 {
			for j, place := range []string{"dir", "bind"} {
				tr := record.Trial{
					Run: id, Cell: record.Cell{Workload: "wal", Engine: "host", Place: place, Limits: "none", Clients: 1}, Key: "wal/host/" + place,
					Block: b, Order: 2*b + j, Status: record.Done, Value: 1000 + float64(b) - 500*float64(j),
					Spec: workload.Spec{Name: "wal", Kind: workload.WAL}, Metric: workload.Metric{Name: "commits", Unit: "1/s"},
				}
				if err := db.PutTrial(tr); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return state
}

// plimsollReport runs "plimsoll report" in process.
func plimsollReport(state string, args ...string) result {
	var out, talk bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &talk}
	status := a.run(context.Background(), append([]string{"report", "--state", state}, args...))
	return result{status, out.String(), talk.String()}
}

func TestReportRefusesWhatItCantDo(t *testing.T) {
	state := recorded(t)
	var said transcript
	for _, args := range [][]string{
		nil,
		{"nonesuch"},
		{"2026112"},
		{"last", "--format", "pdf"},
		{"last", "-o", "x.pdf"},
		{"last", "--full", "--format", "json"},
	} {
		r := plimsollReport(state, args...)
		if r.status != exitUsage {
			t.Errorf("report %v: status %d, want %d", args, r.status, exitUsage)
		}
		said.add(append([]string{"report"}, args...), r)
	}
	missing := []string{"last", "-o", filepath.Join(state, "missing", "x.html")}
	r := plimsollReport(state, missing...)
	if r.status != exitFailure {
		t.Errorf("a missing folder gives status %d", r.status)
	}
	said.add(append([]string{"report"}, missing...), r)
	said.check(t, "report-refuses.txt", golden.Text(state, "STATE"))
}

// TestReportPrintsARun: a run, all of it, and two runs; as text it ends with the command that makes the page.
func TestReportPrintsARun(t *testing.T) {
	state := recorded(t)
	for file, args := range map[string][]string{"report.txt": {"20261121"}, "report-full.txt": {"last", "--full"}, "report-two.txt": {"last~1", "last"}} {
		var said transcript
		said.add(append([]string{"report"}, args...), plimsollReport(state, args...))
		said.check(t, file, golden.Text(state, "STATE"))
	}
	var doc struct {
		Version int `json:"schema_version"`
	}
	mustDo(t, json.Unmarshal([]byte(plimsollReport(state, "last", "--format", "json", "-o", "-").stdout), &doc))
	if doc.Version != 2 {
		t.Errorf("JSON has version %d", doc.Version)
	}
}

func TestReportWritesAFileWhole(t *testing.T) {
	state := recorded(t)
	dir := t.TempDir()
	for name, begin := range map[string]string{"r.html": "<!doctype html>", "r.md": "# places", "r.csv": "run,workload", "r.json": "{", "r.txt": "plan places"} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := plimsollReport(state, "last", "-o", file); r.status != exitDone || r.stdout != "" {
			t.Errorf("%s: %+v", name, r)
		}
		got, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(string(got), begin) {
			t.Errorf("%s begins with %.20q, %v, want %q", name, got, err, begin)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
