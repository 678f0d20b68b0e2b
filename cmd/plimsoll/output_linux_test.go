package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestLostOutput: a command whose standard output takes nothing did not succeed, whatever it printed there.
func TestLostOutput(t *testing.T) {
	needRun(t)
	t.Parallel() // Its folders are its own.
	cwd, state := t.TempDir(), t.TempDir()
	if r := plimsoll(t, t.Context(), state, small, "run", "-", "--blocks", "1", "--only", "engine=host,workload=append"); r.status != exitDone {
		t.Fatal(r.stderr)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, line := range []string{
		"--help", "fio --help", "doctor", "results ls", "results show last", "report last", "version", "plan show places",
		"verify out --size 1MiB", "fio --name=a --rw=write --size=1m --ioengine=psync", "diskspd -b4K -d1 -W0 -c1M io.dat",
		"orion -run advanced -matrix point -num_small 1 -num_large 0 -duration 1 -testname t --lun-size 16MiB",
	} {
		var errs bytes.Buffer
		cmd := exec.CommandContext(t.Context(), os.Args[0], append(strings.Fields(line), "--state", state)...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = cwd, full, &errs
		cmd.Env = append(cmd.Environ(), forChild(t)...)
		_ = cmd.Run()
		if status := cmd.ProcessState.ExitCode(); status != exitFailure || !strings.Contains(errs.String(), "no space left on device") {
			t.Errorf("%s: status %d, want %d and why:\n%s", line, status, exitFailure, &errs)
		}
	}
}

// TestDialectNowhere: a line whose files are in a current folder that is gone does nothing.
func TestDialectNowhere(t *testing.T) {
	needRun(t)
	dir := inFolder(t)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	r := plimsoll(t, t.Context(), t.TempDir(), "", "dd", "if=/dev/zero", "of=out", "bs=4K", "count=2")
	if _, err := os.Stat(dir); r.status != exitFailure || !strings.Contains(r.stderr, "current folder") || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("status %d, %v; stderr:\n%s", r.status, err, r.stderr)
	}
}
