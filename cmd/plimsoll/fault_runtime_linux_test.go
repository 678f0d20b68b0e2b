package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/texttest"
)

// TestRunRuntimeGone: an OCI runtime that is uninstalled in the middle doesn't use the run up, cell by
// cell. The run stops and goes on when the runtime is there again.
func TestRunRuntimeGone(t *testing.T) {
	needRun(t)
	t.Parallel() // The runtime is its own.
	installed, err := exec.LookPath("runc")
	if err != nil {
		t.Skip("runc is needed")
	}
	program, err := os.ReadFile(installed)
	if err != nil {
		t.Fatal(err)
	}
	dir, runtime := t.TempDir(), filepath.Join(t.TempDir(), "runc")
	install := func() { writeProgram(t, runtime, string(program)) }
	install()
	plan := `
name: uninstalled
workloads: {w: {rw: randread, bs: 4KiB, size: 1MiB, number_ios: 200}, append: {kind: append, count: 50}}
engines: [host, {name: mine, kind: oci, runtime: ` + runtime + `}]
places: {dir: {}, layer: {}, bind: {}}
baseline: {engine: host, place: dir}
blocks: 6
`
	const cells = 2 * (1 + 2 + 1) // With the control.
	cmd := startPlan(t, dir, plan, "run", "-")
	for end := time.Now().Add(time.Minute); countTrials(dir) < cells+2 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	if err := os.Remove(runtime); err != nil {
		t.Fatal(err)
	}
	exited(t, cmd)
	said := cmd.Stderr.(*output).String()
	if status := cmd.ProcessState.ExitCode(); status != exitFailure {
		t.Fatalf("status %d, want %d; stderr:\n%s", status, exitFailure, said)
	}
	texttest.Has(t, said, []string{"engine mine is gone", runtime})
	texttest.Has(t, lastLine(said), []string{"--resume"}, "the last line")
	run, trials := records(t, dir)
	if run.Status != record.Interrupted || len(trials) >= 6*cells {
		t.Errorf("the run is %s with %d trials", run.Status, len(trials))
	}
	wantDone(t, trials, cells+2)
	checkClean(t, dir)

	install()
	if r := plimsoll(t, t.Context(), dir, "", "run", "--resume"); r.status != exitDone {
		t.Errorf("the resumed run: status %d, stderr:\n%s", r.status, r.stderr)
	}
	_, trials = records(t, dir)
	wantDone(t, trials, 6*cells)
	checkClean(t, dir)
}
