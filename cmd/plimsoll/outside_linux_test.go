package main

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/testkit/disktest"
)

// TestRunMemoryLimitOutside: plimsoll itself runs under a limit on memory, as in a service or
// a build's container. The cell that needs more fails and says whose limit that was; the others are
// measured, and what they stood under is in their records.
func TestRunMemoryLimitOutside(t *testing.T) {
	needRun(t)
	around := disktest.NewMemoryGroup(t, 128<<20)
	dir := t.TempDir()
	plan := `
name: outside
workloads:
  big: {rw: randread, bs: 4KiB, size: 200MiB, number_ios: 200}
engines: [host]
places: {dir: {}, tmpfs: {size: 256MiB}}
blocks: 1
`
	cmd := exec.CommandContext(t.Context(), "sh")
	cmd.Args = slices.Concat(around.Child(t).Command(), []string{os.Args[0], "run", "-", "--state", dir})
	cmd.Env = append(os.Environ(), asPlimsoll+"=1")
	cmd.Stdin = strings.NewReader(plan)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if s := cmd.ProcessState.ExitCode(); s != exitCellsFailed {
		t.Fatalf("status %d, want %d; stderr:\n%s", s, exitCellsFailed, errs.String())
	}
	_, trials := records(t, dir)
	places := byPlace(trials)
	// The page cache of a file gives way, that of a tmpfs has nowhere to go.
	wantDone(t, places["dir"], 2)
	want := "out of memory (memory limit 128 MiB of the control group " + around.Path + ", which is not the plan's)"
	wantFailed(t, places["tmpfs"], 1, want)
	if !strings.Contains(unwrap(out.String()), want) {
		t.Errorf("the report doesn't say why:\n%s", out.String())
	}
	for _, tr := range places["dir"] {
		if got := tr.Where[0].Memory; got != 128<<20 {
			t.Errorf("%s: the record has a memory limit of %d bytes, want %d", tr.Key, got, 128<<20)
		}
	}
	checkClean(t, dir)
}
