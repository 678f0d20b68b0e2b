package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// pipeLines are lines that read the named pipe t.lun in the current folder.
var pipeLines = map[string]string{
	"fio":     "fio t.lun",
	"include": "fio with-include",
	"orion":   "orion -run simple -testname t",
	"diskspd": "diskspd -Xt.lun",
	"ab":      "ab -n 1 -T text/plain -p t.lun http://127.0.0.1:9/",
	"verify":  "verify --check --journal t.lun data",
	"plan":    "run ./t.lun",
}

// pipeFolder makes a current folder with that pipe, and returns the pipe's path.
func pipeFolder(t *testing.T) string {
	t.Helper()
	dir := inFolder(t)
	if err := os.WriteFile("with-include", []byte("[global]\ninclude t.lun\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "t.lun")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	return pipe
}

// TestPipeNobodyWrites: an interrupt ends a command that waits for the other end of a pipe.
func TestPipeNobodyWrites(t *testing.T) {
	pipeFolder(t)
	for name, line := range pipeLines {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan result, 1)
		state := t.TempDir()
		go func() { done <- plimsoll(t, ctx, state, "", strings.Fields(line)...) }()
		cancel()
		t.Log(name)
		(<-done).wantError(t, exitFailure, "interrupted")
	}
}

// TestPipeSilent: so does one that waits for what a pipe's other end has to say.
func TestPipeSilent(t *testing.T) {
	for name, line := range pipeLines {
		t.Run(name, func(t *testing.T) {
			pipe := pipeFolder(t)
			cmd := launch(t, t.TempDir(), "", strings.Fields(line)...)
			// It returns when plimsoll has the pipe open, which is after it takes interrupts.
			w, err := os.OpenFile(pipe, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			exited(t, cmd)
			if said := cmd.Stderr.(*output).String(); cmd.ProcessState.ExitCode() != exitFailure || !strings.Contains(lastLine(said), "interrupted") {
				t.Errorf("%v, want exit status %d, interrupted:\n%s", cmd.ProcessState, exitFailure, said)
			}
		})
	}
}

// TestPipeNobodyReads: an interrupt ends a command that waits for a reader of its output.
func TestPipeNobodyReads(t *testing.T) {
	needRun(t)
	pipeFolder(t)
	state := t.TempDir()
	if r := plimsoll(t, t.Context(), state, small, "run", "-", "--blocks", "1", "--only", "engine=host,workload=append"); r.status != exitDone {
		t.Fatal(r.stderr)
	}
	for _, line := range []string{
		"report last --format text -o t.lun", "results export last --format csv -o t.lun", "fio --name=a --rw=write --size=1m --output=t.lun",
		"ab -n 1 -e t.lun http://127.0.0.1:9/",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan result, 1)
		go func() { done <- plimsoll(t, ctx, state, "", strings.Fields(line)...) }()
		cancel()
		t.Log(line)
		(<-done).wantError(t, exitFailure, "interrupted")
	}
}

// TestFioReadsStdin: as with fio, the job file - is standard input.
func TestFioReadsStdin(t *testing.T) {
	needRun(t)
	inFolder(t)
	r := plimsoll(t, t.Context(), t.TempDir(), "[a]\nrw=write\nsize=1m\nioengine=psync\n", "fio", "-")
	r.wantOutput(t, exitDone, "a: (groupid=0, jobs=1)")
}
