package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/leaktest"
	"plimsoll/internal/record"
)

// TestRunDatabaseRemoved: a run whose database is removed stops and says where its
// records are; they can be read, and the run goes on there.
func TestRunDatabaseRemoved(t *testing.T) {
	needRun(t)
	dir := t.TempDir()
	cmd := startPlimsoll(t, dir, "run", "-", "--blocks", "20")
	files, err := filepath.Glob(filepath.Join(dir, "plimsoll.db*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	cmd.Wait()
	said := cmd.Stderr.(*bytes.Buffer).String()
	saved, err := filepath.Glob(filepath.Join(dir, "rescued-*"))
	if code := cmd.ProcessState.ExitCode(); code != exitFailure || err != nil || len(saved) != 1 || strings.Count(said, "no longer there") != 1 || !strings.Contains(said, saved[0]) {
		t.Fatalf("status %d, saved %v, want 1 and one folder, named once:\n%s", code, saved, said)
	}
	run, trials := records(t, saved[0])
	if run.Status != record.Interrupted || len(trials) < 3 {
		t.Errorf("the saved run is %s with %d trials, want what was measured", run.Status, len(trials))
	}
	if r := plimsoll(t, t.Context(), saved[0], "", "report", "last"); r.status != exitDone {
		t.Errorf("report of what was saved: status %d\n%s", r.status, r.stderr)
	}
	leaktest.Check(t, dir)
}

// TestRunHangup: the end of its terminal interrupts a run as kill does; under nohup it goes on.
func TestRunHangup(t *testing.T) {
	needRun(t)
	dir := t.TempDir()
	cmd := startPlimsoll(t, dir, "run", "-", "--blocks", "50")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	run, trials := records(t, dir)
	if cmd.ProcessState.ExitCode() != exitFailure || run.Status != record.Interrupted || len(trials) < 3 {
		t.Errorf("%v, the run is %s with %d trials; want it interrupted", cmd.ProcessState, run.Status, len(trials))
	}
	checkClean(t, dir)
}

// TestRunClosedPipes: nobody reads what a run says any more. That breaks nothing off: the trials
// are measured and kept, and nothing stays.
func TestRunClosedPipes(t *testing.T) {
	needRun(t)
	for _, c := range []struct {
		name   string
		stdout bool
		status int
	}{{"stderr", false, exitDone}, {"both", true, exitFailure}} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0], "run", "-", "--state", dir)
			cmd.Env = append(os.Environ(), asPlimsoll+"=1")
			cmd.Stdin = strings.NewReader(small)
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			r.Close()
			defer w.Close()
			cmd.Stderr = w
			if c.stdout {
				cmd.Stdout = w
			}
			cmd.Run()
			run, trials := records(t, dir)
			if got := cmd.ProcessState.ExitCode(); got != c.status || run.Status != record.Done {
				t.Errorf("%v, the run is %s with %d trials; want status %d and done", cmd.ProcessState, run.Status, len(trials), c.status)
			}
			checkClean(t, dir)
		})
	}
}

// TestPlanNotCome: an interrupt ends what waits for a plan that doesn't come, from a named pipe
// that nobody writes to or from standard input.
func TestPlanNotCome(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "plan.yaml")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"run", fifo}, {"run", "-"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			dir := t.TempDir() // A new one: its database tells how far this one is.
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			defer w.Close()
			cmd := exec.Command(os.Args[0], append(args, "--state", dir)...)
			cmd.Env = append(os.Environ(), asPlimsoll+"=1")
			cmd.Stdin = r
			var said bytes.Buffer
			cmd.Stderr = &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			t.Cleanup(func() { cmd.Process.Kill() })
			// It listens to signals before it opens the database, and that before it reads.
			for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
				if _, err := os.Stat(filepath.Join(dir, "plimsoll.db")); err == nil {
					break
				}
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			select {
			case <-ended:
				if code := cmd.ProcessState.ExitCode(); code != exitFailure || !strings.Contains(said.String(), "interrupted while") {
					t.Errorf("%v, said %q", cmd.ProcessState, &said)
				}
			case <-time.After(20 * time.Second):
				t.Error("it waits on after an interrupt")
			}
		})
	}
}

// TestRunLostWriteback: buffered writes are taken by the page cache and lost when they are written
// back, as the loop device's sparse file has no room. The trial fails, with the reason.
func TestRunLostWriteback(t *testing.T) {
	needRun(t)
	full := mount(t, "tmpfs", "tmpfs", 0, "size=2m")
	image := filepath.Join(full, "disk")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 16<<20); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", image).Output()
	if err != nil {
		t.Skipf("a loop device is needed: %v", err)
	}
	loop := strings.TrimSpace(string(out))
	t.Cleanup(func() { exec.Command("losetup", "--detach", loop).Run() })
	dir := t.TempDir()
	plan := "name: p\nworkloads: {w: {rw: randwrite, bs: 4KiB, size: 16MiB, number_ios: 3000}}\nengines: [host]\nplaces: {dir: {path: " + loop + "}}\nblocks: 1\n"
	r := plimsoll(t, t.Context(), dir, plan, "run", "-", "--destructive", loop)
	if r.status != exitCellsFailed {
		t.Errorf("status %d, want %d\n%s", r.status, exitCellsFailed, r.stderr)
	}
	_, trials := records(t, dir)
	wantFailed(t, trials, 1, "did not reach the storage", loop+": fsync: input/output error")
	checkClean(t, dir)
}
