package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/dockertest"
)

// testDockerWorkerKilled is a part of TestRunEnd: a container's worker that is killed costs the trial in which it dies.
func testDockerWorkerKilled(t *testing.T, api *client.Client) {
	before := objects(t, api)
	testWorkerKilled(t, "docker", "layer: {}, volume: {}", func(string) (pids []int) {
		cs, err := api.ContainerList(t.Context(), client.ContainerListOptions{})
		if err != nil {
			return nil
		}
		for _, c := range cs.Items {
			if at, err := api.ContainerInspect(t.Context(), c.ID, client.ContainerInspectOptions{}); err == nil && at.Container.State.Pid > 1 {
				pids = append(pids, at.Container.State.Pid)
			}
		}
		return pids
	})
	waitHeld(t, api, before)
}

// TestDockerReadOnlyOrFull: a volume that takes no writes, or a volume or a bound folder that is full in the middle of a
// trial, fails with the kernel's words; the others are measured.
func TestDockerReadOnlyOrFull(t *testing.T) {
	t.Parallel()
	needRun(t)
	findsDocker(t, dockertest.SharedDocker(t))
	dir := t.TempDir()
	full := disktest.Tmpfs(t, "size=8m")
	plan := `
name: refused
workloads: {wal: {kind: wal, runtime: 1s}} # How much it writes nobody knows beforehand.
engines: [docker]
places:
  volume: {}
  full:   {kind: volume, driver_opts: {type: tmpfs, device: tmpfs, o: "size=8m"}}
  filled: {kind: bind, path: ` + full + `}
  frozen: {kind: volume, driver_opts: {type: tmpfs, device: tmpfs, o: "ro,size=8m"}}
baseline: {engine: docker, place: volume}
blocks: 2
`
	r := plimsoll(t, t.Context(), dir, plan, "run", "-")
	if r.status != exitCellsFailed {
		t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
	}
	_, trials := records(t, dir)
	places := byPlace(trials)
	wantDone(t, places["volume"], 2*2)
	wantFailed(t, places["frozen"], 2, "read-only file system")
	for _, place := range []string{"full", "filled"} {
		wantFailed(t, places[place], 2, "no space left on device")
		for _, tr := range places[place] {
			if tr.Phase != "run" || !strings.Contains(tr.Progress, "operations and") || tr.Value != 0 {
				t.Errorf("%s failed in phase %q, got as far as %q, value %v", tr.Key, tr.Phase, tr.Progress, tr.Value)
			}
		}
	}
	for _, word := range []string{"read-only file system", "no space left on device"} {
		if !strings.Contains(unwrap(r.stdout), word) || !strings.Contains(r.stderr, word) {
			t.Errorf("not told: %q; stdout:\n%s\nstderr:\n%s", word, r.stdout, r.stderr)
		}
	}
	checkClean(t, dir)
}

// TestDockerVanished: the device below a bound folder and a volume goes away.
func TestDockerVanished(t *testing.T) {
	t.Parallel()
	needRun(t)
	findsDocker(t, dockertest.SharedDocker(t))
	device, disk := disktest.Disk(t, disktest.Options{})
	inner := filepath.Join(disk, "volume")
	mustDo(t, os.Mkdir(inner, 0o755))
	places := fmt.Sprintf("volume: {}, bound: {kind: bind, path: %s}, lost: {kind: volume, driver_opts: {type: none, o: bind, device: %s}}", disk, inner)
	testVanished(t, vanishing{
		engines: "docker", places: places, kept: "volume", lost: []string{"bound", "lost"},
		disk: disk, vanish: func() error { return disktest.Vanish(device) },
		blocks: 6,
	})
}

// testOneInterrupt is a part of TestRunEnd: an interrupt of the process itself ends its containers, removes what is theirs, and
// the run goes on with what it lacks.
func testOneInterrupt(t *testing.T, api *client.Client) {
	dir := t.TempDir()
	before := objects(t, api)
	p := strings.Replace(small, "[host, oci]", "[host, oci, docker]", 1)
	p = strings.Replace(p, "layer: {},", "layer: {}, volume: {},", 1)
	const blocks, cells = 3, 2 * (2 + 2 + 3 + 1) // With the control.
	cmd := startPlan(t, dir, p, "run", "-", "--blocks", fmt.Sprint(blocks))
	for end := time.Now().Add(time.Minute); countTrials(dir) < cells+cells/2 && time.Now().Before(end); { // All containers run.
		time.Sleep(5 * time.Millisecond)
	}
	if now := objects(t, api); now.containers <= before.containers {
		t.Errorf("no container runs before the interrupt: %+v", now)
	}
	mustDo(t, cmd.Process.Signal(os.Interrupt))
	exited(t, cmd)
	said := cmd.Stderr.(*output).String()
	if state := cmd.ProcessState; state.Sys().(syscall.WaitStatus).Signaled() || state.ExitCode() != exitFailure || !strings.Contains(said, onceInterrupted) {
		t.Errorf("plimsoll ended with %v, want exit status %d; stderr:\n%s", state, exitFailure, said)
	}
	run, trials := records(t, dir)
	if run.Status != record.Interrupted || len(trials) >= blocks*cells {
		t.Errorf("the run is %s with %d trials", run.Status, len(trials))
	}
	wantDone(t, trials, cells+cells/2)
	if want := "plimsoll run --resume " + run.ID; !strings.Contains(lastLine(said), want) {
		t.Errorf("no %q in the last line of\n%s", want, said)
	}
	if left := processesWith(dir); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
	waitHeld(t, api, before)
	checkClean(t, dir)

	r := plimsoll(t, t.Context(), dir, "", "run", "--resume")
	if r.status != exitDone || strings.Contains(r.stderr, "leftovers") {
		t.Errorf("the resumed run: status %d, stderr:\n%s", r.status, r.stderr)
	}
	_, trials = records(t, dir)
	wantDone(t, trials, blocks*cells)
	waitHeld(t, api, before)
	checkClean(t, dir)
}
