package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/texttest"
)

func TestRun(t *testing.T) {
	needRun(t)
	dir, out := t.TempDir(), t.TempDir()
	r := plimsoll(t, t.Context(), dir, small, "run", "-", "--out", out)
	if r.status != exitDone {
		t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
	}
	run, trials := records(t, dir)
	// Per workload: host dir and tmpfs, oci layer and tmpfs, and the control.
	if want := 2 * 2 * 5; len(trials) != want {
		t.Errorf("%d trials, want %d", len(trials), want)
	}
	for _, tr := range trials {
		if tr.Status != record.Done || tr.Value <= 0 || len(tr.Results) != 1 {
			t.Errorf("%s, block %d: %s %v %s", tr.Key, tr.Block, tr.Status, tr.Value, tr.Error)
		}
		if tr.FirstWhere().FSType == "" || tr.FirstWhere().Kernel == "" {
			t.Errorf("%s: no fingerprint: %+v", tr.Key, tr.Where)
		}
		if strings.Contains(tr.Key, "dir") && tr.Total().Device == "" {
			t.Errorf("%s: no device: %s", tr.Key, tr.Total().DeviceWhy)
		}
	}
	// The doubts are raised, kept with the record, and printed.
	for _, tr := range trials {
		if tr.Cell.Workload != "randread" {
			continue
		}
		switch {
		case tr.Cell.Place == "tmpfs" && len(tr.Warnings) == 0:
			t.Errorf("%s: memory, and no warning says so", tr.Key)
		case tr.Cell.Place != "tmpfs" && (tr.Total().ProcRead <= 0 || tr.Total().DeviceRead <= 0):
			t.Errorf("%s: a direct read that nothing below saw: %+v", tr.Key, tr.Truth)
		}
	}
	if !strings.Contains(r.stdout, "tmpfs is memory") {
		t.Errorf("the table lacks the doubt about tmpfs:\n%s", r.stdout)
	}
	if run.Status != record.Done || run.Ceiling.IOPS <= 0 || run.Seed != 7 {
		t.Errorf("run = %+v", run)
	}
	if c := run.IOEngine["randread"]; c.Engine == "" || c.Why == "" {
		t.Errorf("I/O engine = %+v", c)
	}
	texttest.Has(t, r.stdout, []string{"host dir", "oci layer"})
	// In a note it may stand in parentheses.
	if strings.Contains(r.stdout, "  A/A control") {
		t.Errorf("two blocks prove nothing, and their tables are printed:\n%s", r.stdout)
	}
	if full := plimsoll(t, t.Context(), dir, "", "report", "last", "--full"); !strings.Contains(full.stdout, "  A/A control") {
		t.Errorf("--full lacks the tables:\n%s", full.stdout)
	}
	if last := lastLine(r.stdout); !strings.HasSuffix(last, filepath.Join(out, "report.html")) {
		t.Errorf("the last line is %q, want where the page is", last)
	}
	html, err := os.ReadFile(filepath.Join(out, "report.html"))
	if err != nil || !bytes.Contains(html, []byte("randread")) {
		t.Errorf("report.html: %v, %d bytes", err, len(html))
	}
	checkClean(t, dir)
}

func TestRunJSON(t *testing.T) {
	needRun(t)
	r := plimsoll(t, t.Context(), t.TempDir(), small, "run", "-", "--json", "--only", "engine=host", "--blocks", "1")
	if r.status != exitDone {
		t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil {
		t.Errorf("stdout is not JSON: %v", err)
	}
}

// TestRunFailedCell: a cell that fails keeps its error, and the others are done.
func TestRunFailedCell(t *testing.T) {
	needRun(t)
	t.Parallel() // Its state is its own.
	dir := t.TempDir()
	const plan = `
name: full
workloads:
  big: {kind: tree, count: 400}
engines: [host, oci]
places: {dir: {}, tmpfs: {size: 4MiB}}
blocks: 2
`
	r := plimsoll(t, t.Context(), dir, plan, "run", "-")
	if r.status != exitCellsFailed {
		t.Fatalf("status %d, want %d; stderr:\n%s", r.status, exitCellsFailed, r.stderr)
	}
	_, trials := records(t, dir)
	var done, failed int
	for _, tr := range trials {
		switch tr.Status {
		case record.Done:
			done++
		case record.Failed:
			failed++
			if !strings.Contains(tr.Error, "space") || tr.Phase != "prepare" || tr.Cell.Place != "tmpfs" {
				t.Errorf("failed trial = %s %s %q", tr.Key, tr.Phase, tr.Error)
			}
		}
	}
	if done != 4 || failed != 4 {
		t.Errorf("%d done, %d failed, want 4 and 4", done, failed)
	}
	if !strings.Contains(r.stdout, "space") {
		t.Errorf("the report doesn't say why:\n%s", r.stdout)
	}
	checkClean(t, dir)
}

// TestRunTimeout: a cell that doesn't end is stopped and kept as failed.
func TestRunTimeout(t *testing.T) {
	needRun(t)
	dir := t.TempDir()
	const plan = `
name: slow
workloads: {append: {kind: append, count: 10000000}}
engines: [host]
places: {dir: {}}
blocks: 1
timeout: 1s
`
	r := plimsoll(t, t.Context(), dir, plan, "run", "-")
	if r.status != exitCellsFailed {
		t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
	}
	_, trials := records(t, dir)
	for _, tr := range trials {
		if tr.Status != record.Failed || !strings.Contains(tr.Error, "timeout of 1s") {
			t.Errorf("trial = %s %q", tr.Status, tr.Error)
		}
	}
	checkClean(t, dir)
}

// TestRepeatStandardInput: the command that repeats a run whose plan came from standard input
// works, word by word, in a shell.
func TestRepeatStandardInput(t *testing.T) {
	needRun(t)
	dir, bin := t.TempDir(), t.TempDir()
	r := plimsoll(t, t.Context(), dir, small, "run", "-", "--only", "engine=host", "--blocks", "1")
	if r.status != exitDone {
		t.Fatalf("status %d:\n%s", r.status, r.stderr)
	}
	first, before := records(t, dir)
	if !strings.Contains(r.stdout, "Repeat: "+first.Command) {
		t.Errorf("the report lacks %q:\n%s", first.Command, r.stdout)
	}
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "plimsoll")); err != nil {
		t.Fatal(err)
	}
	sh := exec.Command("sh", "-c", first.Command)
	sh.Env = append(os.Environ(), asPlimsoll+"=1", "PATH="+bin+":"+os.Getenv("PATH"))
	if out, err := sh.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", first.Command, err, out)
	}
	again, after := records(t, dir)
	if again.ID == first.ID {
		t.Errorf("%s is the run %s again", first.Command, first.ID)
	}
	if again.PlanText != first.PlanText {
		t.Errorf("%s ran plan\n%s\nwant\n%s", first.Command, again.PlanText, first.PlanText)
	}
	if again.Seed != first.Seed || len(after) != len(before) {
		t.Errorf("%s ran with seed %d and %d trials, want %d and %d", first.Command, again.Seed, len(after), first.Seed, len(before))
	}
	for i := range min(len(after), len(before)) {
		if after[i].Key != before[i].Key {
			t.Errorf("trial %d is of %s, want %s", i, after[i].Key, before[i].Key)
		}
	}
	checkClean(t, dir)
}
