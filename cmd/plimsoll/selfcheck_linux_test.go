package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/measure/selfcheck"
	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/testkit/leaktest"
)

func TestSelfcheck(t *testing.T) {
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("needs fio")
	}
	needRun(t)
	t.Parallel() // Its figures need only be there.
	dir := t.TempDir()
	leaktest.Check(t, dir)
	r := apart(t, t.Context(), dir, "", "selfcheck", "--dir", dir, "--rounds", "1", "--runtime", "100ms", "--json")
	if r.status != exitDone {
		t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
	}
	var out struct{ Figures []selfcheck.Figure }
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil {
		t.Fatal(err)
	}
	limited := 0
	for _, f := range out.Figures {
		if f.Ours <= 0 || f.Fio <= 0 && f.Name != "CPU" {
			t.Errorf("%+v", f)
		}
		if strings.HasPrefix(f.Case, "limited") {
			limited++
		}
	}
	if want := 4; limited != want || len(out.Figures) != 6*want {
		t.Errorf("%d figures, %d of them limited", len(out.Figures), limited)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "plimsoll-selfcheck-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestSelfcheckRefuses(t *testing.T) {
	var said transcript
	for _, flags := range [][]string{{"--fio", "/nonexistent/fio"}, {"--rounds", "0"}, {"--dir", "/nonexistent/dir", "--fio", os.Args[0]}} {
		args := append([]string{"selfcheck"}, flags...)
		said.add(args, plimsoll(t, t.Context(), t.TempDir(), "", args...))
	}
	said.check(t, "selfcheck-refuses.txt", golden.Text(os.Args[0], "FIO"))
}

// TestSelfcheckInterrupted: an interrupt is reported as one, whichever program runs at that time, and leaves nothing behind.
func TestSelfcheckInterrupted(t *testing.T) {
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("needs fio")
	}
	needRun(t)
	dir := t.TempDir()
	leaktest.Check(t, dir)
	cmd := launch(t, dir, "", "selfcheck", "--dir", dir, "--rounds", "50")
	cmd.Stderr.(*output).waitFor(t, "round 1 of 50")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	exited(t, cmd)
	if said := lastLine(cmd.Stderr.(*output).String()); cmd.ProcessState.ExitCode() != exitFailure || !strings.HasPrefix(said, "plimsoll: interrupted") {
		t.Errorf("%v: %q", cmd.ProcessState, said)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "plimsoll-selfcheck-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
