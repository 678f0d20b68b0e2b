package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/leaktest"
	"plimsoll/internal/record"
)

// mount mounts something on a new folder of its own and unmounts it at the end.
func mount(t *testing.T, source, fstype string, flags uintptr, data string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount(source, dir, fstype, flags, data); err != nil {
		t.Fatalf("mount %s: %v", fstype, err)
	}
	t.Cleanup(func() {
		// EINVAL: the test has unmounted it itself.
		if err := unmount(dir); err != nil && err != unix.EINVAL {
			t.Errorf("unmount %s: %v", dir, err)
			unix.Unmount(dir, unix.MNT_DETACH)
		}
	})
	return dir
}

// unmount is patient: what a killed process held open goes a moment after it.
func unmount(dir string) error {
	err := unix.Unmount(dir, 0)
	for end := time.Now().Add(5 * time.Second); err == unix.EBUSY && time.Now().Before(end); err = unix.Unmount(dir, 0) {
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// makeReadOnly makes a mounted file system read-only, with the same patience.
func makeReadOnly(t *testing.T, dir string) {
	t.Helper()
	const flags = unix.MS_REMOUNT | unix.MS_RDONLY
	err := unix.Mount("", dir, "", flags, "")
	for end := time.Now().Add(20 * time.Second); err == unix.EBUSY && time.Now().Before(end); err = unix.Mount("", dir, "", flags, "") {
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// loopExt4 mounts a new ext4 on a loop device of the test's own.
func loopExt4(t *testing.T, size int64) string {
	t.Helper()
	image := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, size); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", image).CombinedOutput(); err != nil {
		t.Skipf("mkfs.ext4 is needed: %v: %s", err, out)
	}
	out, err := exec.Command("losetup", "--find", "--show", image).Output()
	if err != nil {
		t.Skipf("a loop device is needed: %v", err)
	}
	loop := strings.TrimSpace(string(out))
	t.Cleanup(func() { exec.Command("losetup", "--detach", loop).Run() })
	return mount(t, loop, "ext4", 0, "")
}

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

// TestRunReadOnly: a place that can't be written to fails with its path and the
// kernel's words, in every engine; the others are measured.
func TestRunReadOnly(t *testing.T) {
	needRun(t)
	dir := t.TempDir()
	ro := mount(t, "tmpfs", "tmpfs", unix.MS_RDONLY, "")
	plan := `
name: readonly
workloads: {w: {kind: append, count: 5}}
engines: [host, oci]
places: {dir: {}, bind: {}, frozen: {kind: dir, path: ` + ro + `}, iced: {kind: bind, path: ` + ro + `}}
blocks: 2
`
	r := plimsoll(t, t.Context(), dir, plan, "run", "-")
	if r.status != exitCellsFailed {
		t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
	}
	_, trials := records(t, dir)
	places := byPlace(trials)
	wantDone(t, places["dir"], 2)
	wantDone(t, places["bind"], 2)
	wantFailed(t, places["frozen"], 2, ro, "read-only file system")
	wantFailed(t, places["iced"], 2, ro, "read-only file system")
	for _, word := range []string{"frozen", "read-only file system"} {
		if !strings.Contains(unwrap(r.stdout), word) || !strings.Contains(r.stderr, word) {
			t.Errorf("not told: %q; stdout:\n%s\nstderr:\n%s", word, r.stdout, r.stderr)
		}
	}
	checkClean(t, dir)
}

// shutdown makes an ext4 answer everything with EIO, as when its device is gone
// (EXT4_IOC_SHUTDOWN, EXT4_GOING_FLAGS_NOLOGFLUSH; include/uapi/linux/ext4.h).
func shutdown(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.IoctlSetPointerInt(int(f.Fd()), 0x8004587d, 2)
}

// TestRunVanished: the device goes away in the middle. Its cells fail with the kernel's
// words, what was measured before is kept, the others go on, and not even a
// folder that can't be removed any more stops the run.
func TestRunVanished(t *testing.T) {
	needRun(t)
	dir := t.TempDir()
	disk := loopExt4(t, 64<<20)
	plan := `
name: vanished
workloads:
  randwrite: {rw: randwrite, bs: 4KiB, iodepth: 4, direct: true, size: 1MiB, number_ios: 200}
  append: {kind: append, count: 50}
engines: [host, oci]
places: {dir: {}, disk: {kind: dir, path: ` + disk + `}, bound: {kind: bind, path: ` + disk + `}}
blocks: 12
`
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	gone := make(chan error, 1)
	go func() {
		for ctx.Err() == nil && countTrials(dir) < 20 {
			time.Sleep(5 * time.Millisecond)
		}
		gone <- shutdown(disk)
	}()
	r := apart(t, ctx, dir, plan, "run", "-")
	if err := <-gone; err != nil {
		t.Fatalf("the device did not go away: %v", err)
	}
	if r.status != exitCellsFailed {
		t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
	}
	run, trials := records(t, dir)
	places := byPlace(trials)
	wantDone(t, places["dir"], 12*3)
	for _, p := range []string{"disk", "bound"} {
		var failed []record.Trial
		done := 0
		for _, tr := range places[p] {
			if tr.Status == record.Done {
				done++
			} else {
				failed = append(failed, tr)
			}
		}
		if done == 0 {
			t.Errorf("%s: nothing that was measured before was kept", p)
		}
		wantFailed(t, failed, 12, "input/output error")
	}
	if run.Status != record.Done {
		t.Errorf("the run is %s", run.Status)
	}
	found := false
	for _, w := range run.Warnings {
		found = found || w.Check == "cleanup" && strings.Contains(w.Text, disk)
	}
	if !found {
		t.Errorf("no warning names what could not be removed: %v", run.Warnings)
	}
	sweepVanished(t, dir, disk, run.ID)
}

// sweepVanished takes away a disk that does no I/O any more, and runs something else. Only
// what was on the disk waited for that sweep; afterwards nothing is left of run id.
func sweepVanished(t *testing.T, dir, disk, id string) {
	t.Helper()
	for _, sub := range []string{"data", "oci/state", "oci"} {
		left, _ := os.ReadDir(filepath.Join(dir, sub))
		for _, l := range left {
			if l.Name() != "state" {
				t.Errorf("left behind: %s/%s", sub, l.Name())
			}
		}
	}
	if left := leaktest.Find("plimsoll-"+id, dir); len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
	if err := unmount(disk); err != nil {
		t.Errorf("somebody holds the disk: %v", err)
	}
	r := plimsoll(t, t.Context(), dir, small, "run", "-", "--only", "workload=append,engine=host,place=dir", "--blocks", "1")
	if r.status != exitDone {
		t.Errorf("the next run: status %d, stderr:\n%s", r.status, r.stderr)
	}
	checkClean(t, dir)
}

// TestRunOutOfMemory: a container that the kernel kills for want of memory says so
// with its limit, and costs its own trials only.
func TestRunOutOfMemory(t *testing.T) {
	needRun(t)
	testOutOfMemory(t, "oci")
}

// testOutOfMemory does so with one engine; TestRunEngines has the other.
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
	if kind == "oci" {
		// In a daemon's container the layout's dirty pages may be too much for 32 MiB as well.
		wantDone(t, places["layer"], 2)
	}
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
	needRun(t)
	for engine, places := range map[string]string{"host": "dir: {}, tmpfs: {}", "oci": "layer: {}, tmpfs: {}"} {
		t.Run(engine, func(t *testing.T) { testWorkerKilled(t, engine, places) })
	}
}

func testWorkerKilled(t *testing.T, engine, places string) {
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
	wantFailed(t, failed, 1, "the worker ended: killed by signal killed")
	wantDone(t, done, 14)
	checkClean(t, dir)
}
