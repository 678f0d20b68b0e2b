package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/leaktest"
	"plimsoll/internal/testkit/texttest"
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
	said := cmd.Stderr.(*output).String()
	saved, err := filepath.Glob(filepath.Join(dir, "rescued-*"))
	if err != nil || len(saved) != 1 {
		t.Fatalf("saved %v, %v; want one folder:\n%s", saved, err, said)
	}
	if code := cmd.ProcessState.ExitCode(); code != exitFailure {
		t.Errorf("status %d, want %d", code, exitFailure)
	}
	if strings.Count(said, "no longer there") != 1 || !strings.Contains(said, saved[0]) {
		t.Errorf("want one message that names %s:\n%s", saved[0], said)
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
	// Also where the tests themselves run under nohup: a signal that is caught here is not ignored by what is started.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	defer signal.Stop(caught)
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

// TestRunClosedPipes: a run's output is no longer read. The run goes on: the trials
// are measured and kept, and nothing stays.
func TestRunClosedPipes(t *testing.T) {
	needRun(t)
	t.Parallel() // Its state is its own.
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
// without a writer or from standard input.
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
			for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
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
			case <-time.After(time.Minute):
				t.Error("it waits on after an interrupt")
			}
		})
	}
}

// TestRunLostWriteback: buffered writes are taken by the page cache and lost when they are written
// back, as the loop device's sparse file has no room. The trial fails, with the reason.
func TestRunLostWriteback(t *testing.T) {
	needRun(t)
	full := disktest.Tmpfs(t, "size=2m")
	image := filepath.Join(full, "disk")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 16<<20); err != nil {
		t.Fatal(err)
	}
	loop := disktest.Loop(t, image, false)
	dir := t.TempDir()
	plan := "name: p\nworkloads: {w: {rw: randwrite, bs: 4KiB, size: 16MiB, number_ios: 3000}}\nengines: [host]\nplaces: {dir: {path: " + loop + "}}\nblocks: 1\n"
	r := plimsoll(t, t.Context(), dir, plan, "run", "-", "--destructive", loop)
	if r.status != exitCellsFailed {
		t.Errorf("status %d, want %d\n%s", r.status, exitCellsFailed, r.stderr)
	}
	_, trials := records(t, dir)
	wantFailed(t, trials, 1, "did not reach the storage", loop+": fsync: input/output error")
	checkClean(t, dir)
	// So do the lines of other tools, which ask for no sync of their own.
	for _, line := range [][]string{
		{"dd", "if=/dev/urandom", "of=" + loop, "bs=4K", "count=3000", "conv=notrunc"},
		{"fio", "--name=a", "--filename=" + loop, "--rw=randwrite", "--size=12m"},
	} {
		r := plimsoll(t, t.Context(), t.TempDir(), "", append(line, "--destructive", loop)...)
		r.wantError(t, exitFailure, "did not reach the storage")
	}
}

// TestStateNoexec: doctor and a run say that nothing can be run from the state folder, and
// blame nothing else for it.
func TestStateNoexec(t *testing.T) {
	needRun(t)
	state := disktest.Mount(t, "tmpfs", "tmpfs", unix.MS_NOEXEC, "size=64m")
	cmd := exec.Command(os.Args[0], "doctor", "--state", state)
	cmd.Env = append(os.Environ(), asPlimsoll+"=1")
	out, _ := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != exitCannot || !strings.Contains(unwrap(string(out)), state+" is mounted noexec") || strings.Contains(string(out), "can't run a container here") {
		t.Errorf("doctor: status %d\n%s", code, out)
	}
	r := plimsoll(t, t.Context(), state, small, "run", "-")
	if r.status != exitCannot || !strings.Contains(r.stderr, "mounted noexec; use a --state folder") || strings.Contains(r.stderr, "install runc") {
		t.Errorf("run: status %d\n%s", r.status, r.stderr)
	}
}

// TestForeignWords: what comes from outside reaches the screen without escape sequences.
func TestForeignWords(t *testing.T) {
	setVariable(t, "DOCKER_HOST", "unix:///nowhere\033[31m/d.sock")
	r := plimsoll(t, t.Context(), t.TempDir(), "", "doctor")
	if strings.Contains(r.stdout+r.stderr, "\033") || !strings.Contains(r.stdout, "/nowhere/d.sock") {
		t.Errorf("doctor says %q%q", r.stdout, r.stderr)
	}
}

// copyDatabase copies the database of a state folder with its log.
func copyDatabase(t *testing.T, from, to string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(from, "plimsoll.db*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err == nil {
			err = os.WriteFile(filepath.Join(to, filepath.Base(f)), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestResultsReadOnly: what was recorded can be read from a state folder on a read-only file system,
// also if the plimsoll that wrote it was killed.
func TestResultsReadOnly(t *testing.T) {
	needRun(t)
	t.Parallel() // Its state is its own.
	for _, killed := range []bool{false, true} {
		t.Run(map[bool]string{false: "closed", true: "killed"}[killed], func(t *testing.T) {
			state := disktest.Tmpfs(t, "size=256m")
			if killed {
				cmd := startPlimsoll(t, state, "run", "-", "--blocks", "50")
				// Held open, so that no other process merges the log that the killed one leaves.
				db, err := store.Open(filepath.Join(state, "plimsoll.db"))
				if err != nil {
					t.Fatal(err)
				}
				cmd.Process.Kill()
				cmd.Wait()
				// The rest of the folder goes on changing: containers outlive the killed one a little.
				keep := t.TempDir()
				copyDatabase(t, state, keep)
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				copyDatabase(t, keep, state)
				if st, err := os.Stat(filepath.Join(state, "plimsoll.db-wal")); err != nil || st.Size() == 0 {
					t.Fatalf("the log is not there: %v", err)
				}
			} else if r := plimsoll(t, t.Context(), state, small, "run", "-", "--blocks", "1"); r.status != exitDone {
				t.Fatal(r.stderr)
			}
			for end := time.Now().Add(time.Minute); len(processesWith(state)) > 0 && time.Now().Before(end); {
				time.Sleep(20 * time.Millisecond)
			}
			disktest.Remount(t, state, unix.MS_RDONLY)
			for _, args := range [][]string{{"results", "ls"}, {"results", "show", "last"}, {"report", "last"}, {"results", "export", "last"}} {
				if r := plimsoll(t, t.Context(), state, "", args...); r.status != exitDone || r.stdout == "" {
					t.Errorf("%v: status %d\n%s", args, r.status, r.stderr)
				}
			}
			plimsoll(t, t.Context(), state, "", "results", "rm", "last", "--yes").wantError(t, exitFailure, "read-only")
		})
	}
}

// TestDaemonStrangers: another program at DOCKER_HOST is reported otherwise than a missing daemon, and nothing that it
// sends is printed.
func TestDaemonStrangers(t *testing.T) {
	const bytes = "\xff\xfe\033[31mhello\r\n"
	for _, tt := range []struct {
		name string
		talk func(c net.Conn)
		want string
	}{
		{"drips", func(c net.Conn) {
			for _, err := c.Write([]byte("H")); err == nil; _, err = c.Write([]byte("x")) {
				time.Sleep(50 * time.Millisecond)
			}
		}, "does not answer in time"},
		{"drips a header", func(c net.Conn) {
			for _, err := c.Write([]byte("HTTP/1.1 200 OK\r\n")); err == nil; _, err = c.Write([]byte("A: b\r\n")) {
				time.Sleep(50 * time.Millisecond)
			}
		}, "does not answer in time"},
		{"says more than it is asked", func(c net.Conn) {
			c.Write([]byte("HTTP/1.1 200 OK\r\nApi-Version: 1.47\r\nContent-Length: 0\r\n\r\n" + strings.Repeat(bytes, 100)))
			time.Sleep(500 * time.Millisecond)
		}, "unix://"},
		{"greets", func(c net.Conn) { c.Write([]byte(strings.Repeat(bytes, 1000))) }, "is not a Docker daemon"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			l, err := net.Listen("unix", filepath.Join(dir, "s"))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					go func() {
						defer c.Close()
						c.Read(make([]byte, 4096))
						tt.talk(c)
					}()
				}
			}()
			cmd := exec.Command(os.Args[0], "doctor", "--state", filepath.Join(dir, "state"))
			cmd.Env = append(os.Environ(), asPlimsoll+"=1", "DOCKER_HOST=unix://"+filepath.Join(dir, "s"))
			var out, errs strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &errs
			cmd.Run()
			said := ""
			for line := range strings.Lines(out.String()) {
				if strings.Contains(line, "unix://") {
					said = line
				}
			}
			if !strings.Contains(said, tt.want) || len(said) > 500 {
				t.Errorf("said %q, want %q in at most 500 bytes", said, tt.want)
			}
			if errs.String() != "" {
				t.Errorf("%q on stderr", errs.String())
			}
			texttest.Lacks(t, out.String(), []string{"\033", "\xff"})
		})
	}
}
