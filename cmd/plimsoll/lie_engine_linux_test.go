package main

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/dockertest"
)

// silentDaemon is the address of a socket that takes connections and never answers, as that of a daemon that was stopped does.
func silentDaemon(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "silent") // A socket's path is short.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return "unix://" + path // The kernel takes connections until the queue is full.
}

const enginePlan = `
name: engines
workloads: {append: {kind: append, count: 100}}
engines: [host, docker]
places: {dir: {}, layer: {}}
baseline: {engine: host, place: dir}
blocks: 1
`

// TestLieSilentDaemon: a daemon that is there and does not answer has failed cells. That of one which isn't there are skipped.
func TestLieSilentDaemon(t *testing.T) {
	t.Parallel()
	needRun(t)
	for _, x := range []struct {
		name, host string
		status     int
		failed     int
	}{
		{"silent", silentDaemon(t), 3, 1},
		{"not there", "unix://" + filepath.Join(t.TempDir(), "none"), 0, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			setVariable(t, "DOCKER_HOST", x.host)
			dir := t.TempDir()
			r := plimsoll(t, t.Context(), dir, enginePlan, "run", "-")
			run, trials := records(t, dir)
			failed := 0
			for _, tr := range trials {
				if tr.Cell.Engine != "docker" {
					continue
				}
				failed++
				if tr.Status != record.Failed || !strings.Contains(tr.Error, "does not answer in time") {
					t.Errorf("a trial of docker: %s, %q", tr.Status, tr.Error)
				}
			}
			skipped := 0
			for _, s := range run.Skipped {
				if s.Cell.Engine == "docker" {
					skipped++
				}
			}
			if r.status != x.status || failed != x.failed {
				t.Errorf("status %d and %d failed trials of docker, want %d and %d; %s", r.status, failed, x.status, x.failed, r.stderr)
			}
			if (failed == 0) == (skipped == 0) {
				t.Errorf("%d trials of docker failed and %d cells were skipped, want one of both", failed, skipped)
			}
			// A line has one engine.
			line := plimsoll(t, t.Context(), t.TempDir(), "", "fio", "--engine", "docker", "--name=a", "--rw=write", "--size=64k")
			if want := map[string]int{"silent": 1, "not there": 5}[x.name]; line.status != want {
				t.Errorf("a line of fio: status %d, want %d: %s", line.status, want, line.stderr)
			}
		})
	}
}

// wantFailedEngine fails unless all cells of an engine have failed trials, with words in their errors, and none is skipped.
func wantFailedEngine(t *testing.T, dir string, r result, engine, words string) {
	t.Helper()
	run, trials := records(t, dir)
	failed := 0
	for _, tr := range trials {
		if tr.Cell.Engine != engine {
			continue
		}
		failed++
		if tr.Status != record.Failed || !strings.Contains(tr.Error, words) {
			t.Errorf("a trial of %s: %s, %q; want it failed, with %q", engine, tr.Status, tr.Error, words)
		}
	}
	skipped := slices.ContainsFunc(run.Skipped, func(s record.Skip) bool { return s.Cell.Engine == engine })
	if r.status != exitCellsFailed || failed == 0 || skipped {
		t.Errorf("status %d, %d failed trials of %s, skipped %v; want status %d and none skipped: %s", r.status, failed, engine, run.Skipped, exitCellsFailed, r.stderr)
	}
}

// TestLieStoppedDaemon: a daemon that was stopped takes connections and answers nothing. Once it goes on, its cells are measured.
func TestLieStoppedDaemon(t *testing.T) {
	t.Parallel()
	needRun(t)
	d := dockertest.Start(t)
	setVariable(t, "DOCKER_HOST", d.Host)
	dir := t.TempDir()
	mustDo(t, unix.Kill(d.PID(), unix.SIGSTOP))
	t.Cleanup(func() { _ = unix.Kill(d.PID(), unix.SIGCONT) })
	wantFailedEngine(t, dir, plimsoll(t, t.Context(), dir, enginePlan, "run", "-"), "docker", "does not answer in time")
	mustDo(t, unix.Kill(d.PID(), unix.SIGCONT))
	if r := plimsoll(t, t.Context(), dir, enginePlan, "run", "-"); r.status != exitDone {
		t.Errorf("once it goes on: status %d: %s", r.status, r.stderr)
	}
	_, trials := records(t, dir)
	wantDone(t, trials, 3)
	checkClean(t, dir)
}

// TestLieHungRuntime: an OCI runtime that a plan names hangs whatever it is asked.
func TestLieHungRuntime(t *testing.T) {
	needRun(t)
	t.Parallel() // It waits out the time that a runtime has to answer.
	hang := filepath.Join(t.TempDir(), "hang")
	writeProgram(t, hang, "#!/bin/sh\nsleep 1000 & sleep 1000\n")
	dir := t.TempDir()
	plan := strings.ReplaceAll(enginePlan, "[host, docker]", "[host, {name: hung, kind: oci, runtime: "+hang+"}]")
	wantFailedEngine(t, dir, plimsoll(t, t.Context(), dir, plan, "run", "-"), "hung", "did not end within")
	checkClean(t, dir)
}

// TestLieBrokenRuntime: an OCI runtime that a plan names is there, and fails at once.
func TestLieBrokenRuntime(t *testing.T) {
	needRun(t)
	broken := filepath.Join(t.TempDir(), "broken")
	mustDo(t, os.WriteFile(broken, []byte("#!/bin/sh\necho no such luck >&2\nexit 1\n"), 0o755))
	dir := t.TempDir()
	plan := strings.ReplaceAll(enginePlan, "[host, docker]", "[host, {name: broken, kind: oci, runtime: "+broken+"}]")
	wantFailedEngine(t, dir, plimsoll(t, t.Context(), dir, plan, "run", "-"), "broken", "can't run a container here: no such luck")
	checkClean(t, dir)
}
