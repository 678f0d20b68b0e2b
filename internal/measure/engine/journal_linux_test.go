package engine

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/testkit/journaltest"
)

func TestRemoveOwn(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{
		"", "/", dir, dir + "/data", dir + "/plimsoll", dir + "/plimsoll-", dir + "/plimsoll-2", dir + "/plimsoll-1/..", dir + "/x/../plimsoll-1", "plimsoll-1",
	} {
		if there, err := RemoveOwn(path, "1"); err == nil || there {
			t.Errorf("RemoveOwn(%q) = %v, nil, want a refusal", path, there)
		}
	}
	if _, err := RemoveOwn(dir+"/plimsoll-", ""); err == nil {
		t.Error("RemoveOwn of a session without a name is not refused")
	}
	own := OwnFolder(dir, "1")
	if err := os.MkdirAll(filepath.Join(own, "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		if there, err := RemoveOwn(own, "1"); err != nil || there != want {
			t.Errorf("RemoveOwn(%s) = %v, %v, want %v", own, there, err, want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestSweepKeepsWhatItCouldNotRemove: an entry goes only with all of its folders.
func TestSweepKeepsWhatItCouldNotRemove(t *testing.T) {
	state := t.TempDir()
	j := JournalIn(state, "host")
	gone, there := OwnFolder(state, "a"), OwnFolder(state, "b")
	for id, paths := range map[string][]string{"a": {gone}, "b": {there}, "c": {"/", OwnFolder(state, "b")}} {
		journaltest.Dead(t, state, j.Kind, id, SessionRecord{Paths: paths})
	}
	if err := j.Note(t.Context(), "d", SessionRecord{Paths: []string{OwnFolder(state, "d")}}); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{there, OwnFolder(state, "d")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	did, err := j.SweepSessions(t.Context(), nil)
	if diff := cmp.Diff([]string{"folder " + there}, did); diff != "" || err == nil || !strings.Contains(err.Error(), "session c") {
		t.Errorf("sweep = %v, %v, want that c is refused (-want +got):\n%s", did, err, diff)
	}
	if diff := cmp.Diff([]string{"host-session/c", "host-session/d"}, journaltest.Entries(t, state)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestJournalOfNoState(t *testing.T) {
	j := JournalIn("", "docker")
	did, err := j.SweepSessions(t.Context(), nil)
	if err := errors.Join(err, j.Note(t.Context(), "x", SessionRecord{}), j.Clear("x")); err != nil || did != nil {
		t.Errorf("a journal without a state directory: %v, %v", did, err)
	}
}

func TestInstallWorker(t *testing.T) {
	dir := t.TempDir()
	source := func(s string) WorkerSource { return func(string, string) ([]byte, error) { return []byte(s), nil } }
	path, err := installWorker(dir, source("one"), "linux", "amd64")
	if err != nil {
		t.Fatal(err)
	}
	// Torn, and not executable: both are installed again.
	for _, spoil := range []func() error{
		func() error { return os.Truncate(path, 1) },
		func() error { return os.Chmod(path, 0o600) },
		func() error { return os.Remove(path) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, err := installWorker(dir, source("one"), "linux", "amd64"); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(path)
		if err != nil || st.Size() != 3 || st.Mode().Perm() != 0o755 {
			t.Errorf("worker: %v, %v", st, err)
		}
	}
	other, err := installWorker(dir, source("two"), "windows", "amd64")
	if err != nil || filepath.Dir(other) == filepath.Dir(path) || filepath.Ext(other) != ".exe" {
		t.Errorf("another worker is in %s, %v", other, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*", ".worker-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestProcessEnd: what doesn't end with its input is killed with all it started.
func TestProcessEnd(t *testing.T) {
	for name, row := range map[string]struct{ script, want string }{
		"obeys":       {"cat", "exit status 0"},
		"exit status": {"cat; exit 3", "exit status 3"},
		"137":         {"cat; exit 137", "killed"},
		"deaf":        {"echo said >&2; sleep 61 & echo $!; sleep 62", "killed by signal killed"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := StartProcess([]string{"/bin/sh", "-c", row.script})
			if err != nil {
				t.Fatal(err)
			}
			var child string
			if name == "deaf" {
				b := make([]byte, 32)
				n, err := p.stdout.Read(b)
				if err != nil {
					t.Fatal(err)
				}
				child = strings.TrimSpace(string(b[:n]))
			}
			grace := time.Hour
			if name == "deaf" {
				grace = time.Millisecond
			}
			p.End(t.Context(), grace)
			if s := p.State(t.Context()); !strings.Contains(s, row.want) {
				t.Errorf("State() = %q, want %q", s, row.want)
			}
			if child == "" {
				return
			}
			if p.Log() != "said" {
				t.Errorf("Log() = %q", p.Log())
			}
			// The process that inherits it may take a while to wait for it.
			deadline := time.Now().Add(time.Minute)
			for running(child) && time.Now().Before(deadline) {
				time.Sleep(time.Millisecond)
			}
			if running(child) {
				t.Errorf("process %s outlived its parent", child)
			}
		})
	}
	if _, err := StartProcess([]string{filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("StartProcess of nothing = nil")
	}
	p, err := StartProcess([]string{"sleep", "63"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s := p.State(ctx); !strings.Contains(s, "still runs") {
		t.Errorf("State() = %q", s)
	}
	p.End(ctx, time.Hour)
}

// TestProcessGroup: what an agent leaves behind is killed with its end, and nothing after
// it, when the number may be another's.
func TestProcessGroup(t *testing.T) {
	p, err := StartProcess([]string{"/bin/sh", "-c", "sleep 61 >/dev/null 2>&1 & echo $!"})
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(p.stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child := strings.TrimSpace(line)
	<-p.Waited
	for deadline := time.Now().Add(time.Minute); running(child) && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if running(child) {
		t.Errorf("process %s outlived its parent", child)
	}
	other := exec.Command("sleep", "64")
	other.SysProcAttr = ownGroup()
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	p.Cmd.Process.Pid = other.Process.Pid // As if the number had been given away.
	p.End(t.Context(), time.Hour)
	if err := other.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := other.Wait(); err == nil || err.Error() != "signal: terminated" {
		t.Errorf("a stranger's process ended with %v, want the test's own signal", err)
	}
}

// TestProcessEnvironment: what the caller sets of Go's own variables doesn't reach the worker.
func TestProcessEnvironment(t *testing.T) {
	for _, v := range GoVariables {
		t.Setenv(strings.TrimSuffix(v, "="), "")
	}
	t.Setenv("GOMAXPROCS", "1")
	t.Setenv("PLIMSOLL_TEST", "kept")
	p, err := StartProcess([]string{"env"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(p.stdout)
	p.End(t.Context(), time.Hour)
	if err != nil || !strings.Contains(string(out), "PLIMSOLL_TEST=kept\n") {
		t.Fatalf("%q, %v", out, err)
	}
	for _, v := range GoVariables {
		if strings.Contains("\n"+string(out), "\n"+v) {
			t.Errorf("%s reaches the worker", v)
		}
	}
}

// running reports whether a sleep of these tests lives.
func running(pid string) bool {
	b, err := os.ReadFile("/proc/" + pid + "/cmdline")
	return err == nil && strings.HasPrefix(string(b), "sleep\x0061")
}
