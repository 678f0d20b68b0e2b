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
func plimsollReport(state string, args ...string) (status int, stdout, stderr string) {
	var out, talk bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &talk}
	status = a.run(context.Background(), append([]string{"report", "--state", state}, args...))
	return status, out.String(), talk.String()
}

func TestReportRefusesWhatItCantDo(t *testing.T) {
	state := recorded(t)
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "needs a run"},
		{[]string{"nonesuch"}, "not known"},
		{[]string{"2026112"}, "ambiguous"},
		{[]string{"last", "--format", "pdf"}, "unknown format"},
		{[]string{"last", "-o", "x.pdf"}, "names no format"},
		{[]string{"last", "--full", "--format", "json"}, "--full is for text"},
	} {
		status, out, talk := plimsollReport(state, test.args...)
		if status != exitUsage || out != "" || !strings.Contains(talk, test.want) {
			t.Errorf("report %v: status %d, stdout %q, stderr %q, want status 2 and %q", test.args, status, out, talk, test.want)
		}
	}
	if status, _, talk := plimsollReport(state, "last", "-o", filepath.Join(state, "missing", "x.html")); status != exitFailure {
		t.Errorf("a missing folder gives status %d, %q", status, talk)
	}
}

func TestReportPrintsARun(t *testing.T) {
	state := recorded(t)
	status, out, talk := plimsollReport(state, "20261121")
	if status != exitDone || talk != "" {
		t.Fatalf("status %d, stderr %q", status, talk)
	}
	for _, want := range []string{"Where may I put", "host bind", "slower", "run 20261121-153000-3f9a"} {
		if !strings.Contains(out, want) {
			t.Errorf("the text lacks %q:\n%s", want, out)
		}
	}
	if !strings.HasSuffix(out, "plimsoll report 20261121-153000-3f9a -o report.html --state "+state+"\n") {
		t.Errorf("the text doesn't end with where the page is:\n%s", out)
	}
	if _, out, _ := plimsollReport(state, "last", "--full"); strings.Contains(out, "The page:") || !strings.Contains(out, "━━ wal") {
		t.Errorf("--full:\n%s", out)
	}
	if _, out, _ := plimsollReport(state, "last~1", "last"); !strings.Contains(out, "number of CPUs") {
		t.Error("a report of two runs doesn't say what their machines differ in")
	}
	_, out, _ = plimsollReport(state, "last", "--format", "json", "-o", "-")
	var doc struct {
		Version int `json:"schema_version"`
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || doc.Version != 1 {
		t.Errorf("JSON: %v, version %d", err, doc.Version)
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
		if status, out, talk := plimsollReport(state, "last", "-o", file); status != exitDone || out != "" {
			t.Errorf("%s: status %d, stdout %q, stderr %q", name, status, out, talk)
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
