package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/texttest"
)

// TestRunStateFull: when the state folder's disk fills up in the middle, the run ends with
// an error that names the database, what was recorded before can be read, and nothing
// runs on.
func TestRunStateFull(t *testing.T) {
	needRun(t)
	t.Parallel() // The disk that fills up is its own.
	dir := filepath.Join(disktest.Tmpfs(t, "size=64m"), "state")
	cmd := startPlimsoll(t, dir, "run", "-", "--blocks", "1000")
	log := cmd.Stderr.(*output)
	filler, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer filler.Close()
	chunk := make([]byte, 4096)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	deadline := time.After(time.Minute)
	for {
		// Trials that end give space back, so it is filled again and again.
		for err = nil; err == nil; {
			_, err = filler.Write(chunk)
		}
		select {
		case err := <-ended:
			var ee *exec.ExitError
			if !errors.As(err, &ee) || ee.ExitCode() != exitFailure {
				t.Fatalf("ended with %v, want exit status %d; stderr:\n%s", err, exitFailure, log)
			}
		case <-deadline:
			t.Fatalf("plimsoll runs on with a full disk")
		case <-time.After(5 * time.Millisecond):
			continue
		}
		break
	}
	last := log.String()
	texttest.Has(t, last, []string{filepath.Join(dir, "plimsoll.db"), "no space left", "--state"})
	if strings.Contains(last, "panic") || strings.Contains(last, "goroutine ") {
		t.Errorf("it crashed:\n%s", last)
	}
	filler.Close()
	if err := os.Remove(filler.Name()); err != nil {
		t.Fatal(err)
	}
	_, trials := records(t, dir)
	if len(trials) < 3 {
		t.Errorf("%d trials are kept, want 3 at least", len(trials))
	}
	checkClean(t, dir)
}

// asNobody runs plimsoll as a user without any rights, with the home folder dir.
func asNobody(t *testing.T, dir, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	return asNobodyIn(t, dir, dir, []string{"HOME=" + dir, "DOCKER_HOST=unix://" + dir + "/none.sock"}, stdin, args...)
}

// asNobodyIn is asNobody in another current folder, and with another environment. The program
// is put into dir.
func asNobodyIn(t *testing.T, dir, current string, env []string, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	const nobody = 65534
	// The test's own program lies where only its owner may look.
	exe := filepath.Join(dir, "plimsoll")
	if _, err := os.Stat(exe); err != nil {
		program, err := os.ReadFile(os.Args[0])
		mustDo(t, err)
		writeProgram(t, exe, string(program))
	}
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Dir = current
	cmd.Env = append([]string{asPlimsoll + "=1", "PATH=" + os.Getenv("PATH")}, env...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		var ee *exec.ExitError
		if !errors.As(err, &ee) {
			t.Fatal(err)
		}
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// nobodysFolder makes a folder that a user without rights can reach.
func nobodysFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "plimsoll-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRunNobody: without root the host is measured, and the rest is skipped with
// the reason; an unwritable state folder is reported with its path.
func TestRunNobody(t *testing.T) {
	needRun(t)
	dir := nobodysFolder(t)
	state := filepath.Join(dir, "state")
	if err := os.Mkdir(state, 0o755); err != nil {
		t.Fatal(err)
	}
	status, _, errs := asNobody(t, dir, small, "run", "-", "--state", filepath.Join(state, "plimsoll"))
	if status != exitFailure || !strings.Contains(errs, state) || !strings.Contains(errs, "permission denied") {
		t.Errorf("with a state folder of root's: status %d, want %d and the path; stderr:\n%s", status, exitFailure, errs)
	}
	if err := os.Chown(state, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	p := strings.Replace(small, "[host, oci]", "[host, oci, docker]", 1)
	status, out, errs := asNobody(t, dir, p, "run", "-", "--state", state)
	if status != exitDone {
		t.Fatalf("status %d, stderr:\n%s\n%s", status, errs, out)
	}
	run, trials := records(t, state)
	wantDone(t, trials, 2*2*2)
	reasons := map[string]string{}
	for _, s := range run.Skipped {
		reasons[s.Cell.Engine+" "+s.Cell.Place] = s.Reason
	}
	for cell, want := range map[string]string{"oci layer": "root", "docker layer": "none.sock", "host tmpfs": "root"} {
		if !strings.Contains(reasons[cell], want) {
			t.Errorf("%s was skipped because of %q, want %q", cell, reasons[cell], want)
		}
	}
	for _, tr := range trials {
		if tr.Cell.Engine != plan.Host || tr.Status != record.Done {
			t.Errorf("%s: %s", tr.Key, tr.Status)
		}
	}
	if !strings.Contains(unwrap(out), "run as root") {
		t.Errorf("the report doesn't say what would mend it:\n%s", out)
	}
	checkClean(t, state)
}
