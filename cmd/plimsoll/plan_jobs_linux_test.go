package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const someJobs = `[global]
size=4m
[seq read]
rw=read
bs=64k
[rand]
stonewall
rw=randread
`

// TestJobFilesAreRun: the report has the jobs by their names, and so has the record of a line.
func TestJobFilesAreRun(t *testing.T) {
	state, file := t.TempDir(), filepath.Join(t.TempDir(), "my jobs.fio")
	mustDo(t, os.WriteFile(file, []byte(someJobs), 0o600))
	r := plimsoll(t, t.Context(), state, "", "run", file, "--only", "engine=host,place=dir", "--blocks", "2", "--json")
	r.wantOutput(t, exitDone, "seq_read", "rand")
	r = plimsoll(t, t.Context(), state, "", "fio", "--directory="+state, "--name=first", "--rw=read", "--size=1m", "--name=second", "--rw=read", "--size=1m", "--name=third", "--rw=read", "--size=1m", "--stonewall", "--record")
	if r.status != exitDone {
		t.Fatalf("status %d, %s", r.status, r.stderr)
	}
	plimsoll(t, t.Context(), state, "", "results", "show", "last", "--trial", "third/host/dir").wantOutput(t, exitDone, "third/host/dir")
	plimsoll(t, t.Context(), state, "", "results", "show", "last", "--plan").wantError(t, exitUsage, "was no plan: run its line again: plimsoll fio")
	if r = plimsoll(t, t.Context(), state, "", "report", "last", "--json"); !strings.Contains(r.stdout, "first+second") || !strings.Contains(r.stdout, "third") {
		t.Errorf("the record is\n%s%s", r.stdout, r.stderr)
	}
}
