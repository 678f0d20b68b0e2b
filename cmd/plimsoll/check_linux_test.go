package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/measure/safety"
	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/testkit/leaktest"
)

// TestCheck checks a folder with the command.
func TestCheck(t *testing.T) {
	t.Parallel()
	needRun(t)
	state, dir := t.TempDir(), t.TempDir()
	leaktest.Check(t, dir)
	r := plimsoll(t, t.Context(), state, "", "check", dir, "--json")
	if r.status != exitDone || r.stderr != "" {
		t.Fatalf("status %d, stderr %q", r.status, r.stderr)
	}
	var report safety.Report
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
		t.Fatal(err)
	}
	if report.Place != dir || report.Engine != "host" || len(report.Uses) == 0 {
		t.Errorf("place %q, engine %q, %d uses", report.Place, report.Engine, len(report.Uses))
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

// TestCheckRefuses gives check what it can't check.
func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	needRun(t)
	state, dir := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "file")
	mustDo(t, os.WriteFile(file, nil, 0o600))
	var said transcript
	for _, flags := range [][]string{
		{filepath.Join(dir, "missing")}, {file}, {dir, dir}, {"--engine", "dokcer"}, {"--place", "volume"}, {dir, "--engine", "oci", "--place", "layer"},
		{dir, "--share", "9p"}, {dir, "--kernel", "/vmlinuz"}, {"/proc"}, {"/sys/kernel"},
	} {
		args := append([]string{"check"}, flags...)
		said.add(args, plimsoll(t, t.Context(), state, "", args...))
	}
	said.check(t, "check-refuses.txt", golden.Text(dir, "DIR"), golden.Pattern(`check-[0-9a-f]{8}`, "check-ID"))
}
