package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/dockertest"
)

// exited waits for a command that launch started, two minutes at most.
func exited(t *testing.T, c interface{ Wait() error }) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Fatal("it hangs")
	}
}

// measuringIn waits for a trial's process in a control group that is in the middle of its reads, and
// says whether one came.
func measuringIn(group string) bool {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for _, line := range processesWith("\x00trial\x00--dir") {
			var pid int
			fmt.Sscanf(line, "/proc/%d/cmdline", &pid)
			b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
			if strings.Contains(string(b), group+"/") && readsOf(pid) > 1000 {
				return true
			}
		}
	}
	return false
}

// testDialectDaemonGone: a daemon that dies under a line of another tool is no failed trial of it, as it
// is none of a plan: what was measured before is kept, and nothing if that is nothing.
func testDialectDaemonGone(t *testing.T, api *client.Client, d *dockertest.Daemon) {
	before := objects(t, api)
	for name, row := range map[string]struct {
		line   string
		stages int // that end before
	}{
		"first":  {"fio --name=a --rw=randread --bs=4k --size=1m --ioengine=psync --runtime=60 --time_based", 0},
		"second": {"fio --name=a --rw=randread --bs=4k --size=1m --ioengine=psync --name=b --stonewall --rw=randread --bs=4k --size=1m --ioengine=psync --runtime=60 --time_based", 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cmd := launch(t, dir, "", append(strings.Fields(row.line), "--engine", "docker", "--record")...)
			for end := time.Now().Add(time.Minute); countTrials(dir) < row.stages && time.Now().Before(end); {
				time.Sleep(5 * time.Millisecond)
			}
			if !measuringIn(d.CgroupParent) {
				t.Fatalf("nothing is measured:\n%s", cmd.Stderr)
			}
			d.Kill()
			exited(t, cmd)
			said := cmd.Stderr.(*output).String()
			if status := cmd.ProcessState.ExitCode(); status != exitFailure || !strings.Contains(said, "engine docker is gone") {
				t.Errorf("status %d, want %d and that docker is gone; stderr:\n%s", status, exitFailure, said)
			}
			if n := countTrials(dir); n != row.stages {
				t.Errorf("%d trials are recorded, want %d", n, row.stages)
			}
			if row.stages > 0 {
				if run, trials := records(t, dir); run.Status != record.Interrupted || trials[0].Status != record.Done {
					t.Errorf("the run is %s, its first trial %s; want it interrupted after one that is done", run.Status, trials[0].Status)
				}
			}
			d.Restart(t)
			for try := 1; ; try++ {
				r := plimsoll(t, t.Context(), dir, small, "run", "-", "--blocks", "1", "--set", "engines=[host, docker]")
				if r.status != exitDone {
					t.Errorf("the next run: status %d, stderr:\n%s", r.status, r.stderr)
				}
				// A daemon on a busy machine may not answer in time when it is asked for leftovers.
				if try == 3 || !strings.Contains(r.stdout+r.stderr, "leftovers of an earlier run with engine docker could not be removed") {
					break
				}
			}
			waitHeld(t, api, before)
			checkClean(t, dir)
		})
	}
}

// TestDialectRecordRefused: what can't be recorded is not measured either: a line with --record is refused before
// its work with what would help.
func TestDialectRecordRefused(t *testing.T) {
	needRun(t)
	lines := map[string]string{
		"fio":     "--name=a --rw=write --bs=4k --size=1m --ioengine=psync --filename=made",
		"diskspd": "-b4K -d1 -W0 -w100 -c1M made",
		"dd":      "if=/dev/zero of=made bs=4K count=256",
		"orion":   "-run advanced -matrix point -num_small 1 -num_large 0 -duration 1 -testname t --lun-size 16MiB",
	}
	for name, spoil := range map[string]func(t *testing.T, state string){
		"read-only": func(t *testing.T, state string) { disktest.Remount(t, state, unix.MS_RDONLY) },
		"full":      func(t *testing.T, state string) { disktest.Fill(t, state) },
	} {
		t.Run(name, func(t *testing.T) {
			state := disktest.Tmpfs(t, "size=64m")
			inFolder(t)
			// With the worker and a database in it: else there is more that is missing. A process keeps its lock
			// there to its end, and a disk with a file that is open for writing can't be made read-only.
			if r := apart(t, t.Context(), state, "", "dd", "if=/dev/zero", "of=first", "bs=4K", "count=1", "--record"); r.status != exitDone {
				t.Fatalf("status %d: %s", r.status, r.stderr)
			}
			spoil(t, state)
			dir := inFolder(t)
			for tool, line := range lines {
				r := plimsoll(t, t.Context(), state, "", slices.Concat([]string{tool}, strings.Fields(line), []string{"--record"})...)
				r.wantError(t, exitFailure, "another state folder with --state", state)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("made before it was refused: %v, %v", left, err)
			}
		})
	}
}
