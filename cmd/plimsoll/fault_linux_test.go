package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/dockertest"
)

// byPlace sorts trials by their place.
func byPlace(trials []record.Trial) map[string][]record.Trial {
	m := map[string][]record.Trial{}
	for _, t := range trials {
		m[t.Cell.Place] = append(m[t.Cell.Place], t)
	}
	return m
}

// wantDone fails for each trial that is not done.
func wantDone(t *testing.T, trials []record.Trial, atLeast int) {
	t.Helper()
	if len(trials) < atLeast {
		t.Errorf("%d trials, want %d at least", len(trials), atLeast)
	}
	for _, tr := range trials {
		if tr.Status != record.Done || tr.Value <= 0 {
			t.Errorf("%s, block %d: %s %v: %s", tr.Key, tr.Block, tr.Status, tr.Value, tr.Error)
		}
	}
}

// wantFailed fails for each trial that did not fail with all these words.
func wantFailed(t *testing.T, trials []record.Trial, atLeast int, words ...string) {
	t.Helper()
	if len(trials) < atLeast {
		t.Errorf("%d trials, want %d at least", len(trials), atLeast)
	}
	for _, tr := range trials {
		for _, w := range words {
			if tr.Status != record.Failed || !strings.Contains(tr.Error, w) {
				t.Errorf("%s, block %d: %s in phase %s with %q, want it failed with %q", tr.Key, tr.Block, tr.Status, tr.Phase, tr.Error, w)
			}
		}
	}
}

// unwrap joins the lines of a report, which is broken to fit a terminal.
func unwrap(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestRunReadOnly: a bound folder on a read-only mount is wrong usage before anything is measured, with its path and the kernel's words. All of its
// trials failed.
func TestRunReadOnly(t *testing.T) {
	needRun(t)
	dir := t.TempDir()
	ro := disktest.Mount(t, "tmpfs", "tmpfs", unix.MS_RDONLY, "")
	plan := `
name: readonly
workloads: {w: {kind: append, count: 5}}
engines: [host, oci]
places: {dir: {}, bind: {}, iced: {kind: bind, path: ` + ro + `}}
blocks: 2
`
	r := plimsoll(t, t.Context(), dir, plan, "run", "-")
	r.wantError(t, exitUsage, "place iced: "+ro+" can't be written: read-only file system")
}

// TestRunOutOfMemory: a container that the kernel kills for want of memory says so
// with its limit, and costs its own trials only.
func TestRunOutOfMemory(t *testing.T) {
	needRun(t)
	t.Parallel() // The limit is its own containers'.
	testOutOfMemory(t, "oci")
}

// TestDockerOutOfMemory is TestRunOutOfMemory with Docker.
func TestDockerOutOfMemory(t *testing.T) {
	t.Parallel()
	needRun(t)
	findsDocker(t, dockertest.SharedDocker(t))
	testOutOfMemory(t, "docker")
}

// testOutOfMemory checks it with one engine.
func testOutOfMemory(t *testing.T, kind string) {
	dir := t.TempDir()
	plan := `
name: oom
workloads:
  big: {rw: randread, bs: 4KiB, size: 200MiB, number_ios: 200}
engines: [` + kind + `]
places: {layer: {}, tmpfs: {size: 256MiB}}
limits: {small: {memory: 32MiB}}
clients: [1, 2]
blocks: 1
`
	r := plimsoll(t, t.Context(), dir, plan, "run", "-")
	if r.status != exitCellsFailed {
		t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
	}
	_, trials := records(t, dir)
	places := byPlace(trials)
	wantDone(t, places["layer"], 2)
	wantFailed(t, places["tmpfs"], 2, "out of memory", "memory limit 32 MiB")
	if !strings.Contains(unwrap(r.stdout), "out of memory (memory limit 32 MiB)") {
		t.Errorf("the report doesn't say why:\n%s", r.stdout)
	}
	checkClean(t, dir)
}

// agents lists the workers of a state folder's sessions, and not what runs them.
func agents(dir string) []int {
	var pids []int
	for _, line := range processesWith(dir) {
		var pid int
		if fmt.Sscanf(line, "/proc/%d/cmdline", &pid); pid != 0 && strings.Contains(line, "worker agent ") {
			pids = append(pids, pid)
		}
	}
	// A container's worker doesn't know the state folder, but its runtime noted it.
	files, _ := filepath.Glob(filepath.Join(dir, "oci", "plimsoll-*", "pid"))
	for _, f := range files {
		b, err := os.ReadFile(f)
		if pid, perr := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && perr == nil && pid > 1 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// busy returns one of pids that has a child: an agent in the middle of a trial.
func busy(pids []int) int {
	for _, pid := range pids {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
		for _, f := range files {
			if b, err := os.ReadFile(f); err == nil && len(strings.Fields(string(b))) > 0 {
				return pid
			}
		}
	}
	return 0
}

// TestRunWorkerKilled: a worker that is killed costs the trial in which it dies.
func TestRunWorkerKilled(t *testing.T) {
	t.Parallel()
	needRun(t)
	for engine, places := range map[string]string{"host": "dir: {}, tmpfs: {}", "oci": "layer: {}, tmpfs: {}"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			testWorkerKilled(t, engine, places, agents)
		})
	}
}

// testWorkerKilled does so with one engine, whose agents are found in a state folder; TestRunEngines has docker.
func testWorkerKilled(t *testing.T, engine, places string, agents func(dir string) []int) {
	dir := t.TempDir()
	plan := `
name: killed
workloads: {w: {rw: randread, bs: 4KiB, size: 1MiB, runtime: 200ms}}
engines: [` + engine + `]
places: {` + places + `}
blocks: 5
`
	killed := make(chan int, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if countTrials(dir) >= 3 {
				if pid := busy(agents(dir)); pid != 0 && unix.Kill(pid, unix.SIGKILL) == nil {
					killed <- pid
					return
				}
			}
			time.Sleep(5 * time.Millisecond)
		}
		killed <- 0
	}()
	r := plimsoll(t, t.Context(), dir, plan, "run", "-")
	cancel()
	if <-killed == 0 {
		t.Fatal("no worker was found to kill")
	}
	_, trials := records(t, dir)
	var failed, done []record.Trial
	for _, tr := range trials {
		if tr.Status == record.Failed {
			failed = append(failed, tr)
		} else {
			done = append(done, tr)
		}
	}
	if r.status != exitCellsFailed {
		t.Errorf("status %d, stderr:\n%s", r.status, r.stderr)
	}
	if len(failed) > 1 {
		t.Errorf("%d trials failed, want the one: %v", len(failed), failed)
	}
	wantFailed(t, failed, 1, "the worker ended: killed")
	wantDone(t, done, 14)
	checkClean(t, dir)
}
