package engine_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/inroot"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/enginetest"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/leaktest"
	"plimsoll/internal/testkit/workertest"
	"plimsoll/load"
)

// openInside opens a session in dir of root.
func openInside(t *testing.T, root, dir string, groups ...string) (*agent.Agent, error) {
	t.Helper()
	s, err := engine.OpenInside(t.Context(), t.TempDir(), workertest.Source(t), engine.Inside{ID: "t", Root: root, Dir: dir, Groups: groups})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	a, err := agent.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return a, nil
}

// write does a small trial in a and returns what it wrote.
func write(t *testing.T, a *agent.Agent) int64 {
	t.Helper()
	spec := workload.Spec{Name: "w", Kind: workload.Block, Job: load.Job{RW: load.Write, BS: 64 << 10, Size: 1 << 20}}
	if err := a.Prepare(t.Context(), "1", spec); err != nil {
		t.Fatal(err)
	}
	if err := a.Start("1"); err != nil {
		t.Fatal(err)
	}
	res, err := a.Wait(t.Context(), "1", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, written := res.Bytes()
	return written
}

// list names what is in dir.
func list(t *testing.T, dir string) string {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// TestInside: the worker works in the folder that the container means, whatever its links say,
// and leaves nothing.
func TestInside(t *testing.T) {
	outside, root := t.TempDir(), t.TempDir()
	leaktest.Check(t, root)
	for _, dir := range []string{"data", "tmp"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"absolute": "/data", "up": "../../../../../../../../data",
		"hostile": outside, "magic": "/proc/self/root" + outside,
	} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"/data", "data", "/absolute", "/up", "/tmp/../../data"} {
		a, err := openInside(t, root, dir)
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		if !strings.HasPrefix(list(t, filepath.Join(root, "data")), "plimsoll-inside-t") {
			t.Errorf("%s: the data folder of the container holds %q", dir, list(t, filepath.Join(root, "data")))
		}
		if n := write(t, a); n != 1<<20 {
			t.Errorf("%s: %d bytes were written", dir, n)
		}
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := list(t, filepath.Join(root, "data")); got != "" {
			t.Errorf("%s: left %s", dir, got)
		}
	}
	for dir, want := range map[string]string{
		"/hostile": "no such file", "/magic": "no such file", "/absent": "/absent: no such file",
	} {
		if _, err := openInside(t, root, dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", dir, err, want)
		}
	}
	if got := list(t, outside); got != "" {
		t.Errorf("outside of the container's root there is %s", got)
	}
}

// TestInsideKilled: what a plimsoll and its worker leave that were both killed, the next one removes, and
// nothing else.
func TestInsideKilled(t *testing.T) {
	root := t.TempDir()
	const dead, held, begun = "plimsoll-inside-11-1", "plimsoll-inside-12-1", "plimsoll-inside-13-1"
	// These belong to other programs, although their names look like Plimsoll's.
	const unmarked, forged, notes, other = "plimsoll-inside-14-1", "plimsoll-inside-15-1", "plimsoll-inside-notes", "plimsoll-other"
	for _, name := range []string{dead, held, begun, unmarked, forged, notes, other} {
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		switch name {
		case held:
			if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
				t.Fatal(err)
			}
			fallthrough
		case dead, notes:
			if err := inroot.Mark(f); err != nil {
				t.Fatal(err)
			}
		case forged:
			if err := os.WriteFile(filepath.Join(dir, ".plimsoll-scratch"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		case begun:
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, err := openInside(t, root, "/")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := list(t, root), strings.Join([]string{held, unmarked, forged, notes, "plimsoll-inside-t", other}, " "); got != want {
		t.Errorf("there is %s, want %s", got, want)
	}
	// The worker that loses its parent cleans up by itself.
	a.Session.Stdin().Close()
	for end := time.Now().Add(time.Minute); strings.Contains(list(t, root), "inside-t"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the worker left %s", list(t, root))
		}
	}
}

// TestInsideParentKilled: a worker that has nobody to read what it says, as after kill -9 of plimsoll amid a measurement,
// does not die of that: it removes its folder.
func TestInsideParentKilled(t *testing.T) {
	root := t.TempDir()
	a, err := openInside(t, root, "/")
	if err != nil {
		t.Fatal(err)
	}
	spec := workload.Spec{Name: "w", Kind: workload.Block, Job: load.Job{RW: load.Write, BS: 4 << 10, Size: 1 << 20, Runtime: time.Hour, SampleEvery: 10 * time.Millisecond}}
	if err := a.Prepare(t.Context(), "1", spec); err != nil {
		t.Fatal(err)
	}
	if err := a.Start("1"); err != nil {
		t.Fatal(err)
	}
	// written is how often the agent has written: each sample is one time, also in vain. It is gone if it died.
	written := func() string {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(a.Info().PID) + "/io")
		if err != nil {
			return "gone"
		}
		_, rest, _ := strings.Cut(string(b), "syscw: ")
		n, _, _ := strings.Cut(rest, "\n")
		return n
	}
	a.Session.Stdout().(io.Closer).Close()
	before := written()
	for end := time.Now().Add(time.Minute); written() == before && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
	}
	a.Session.Stdin().Close()
	for end := time.Now().Add(time.Minute); list(t, root) != ""; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the worker left %s", list(t, root))
		}
	}
}

// TestInsideMoved: a container that gives the scratch folder another name, or puts another in its place, keeps nothing of
// it, and loses nothing else.
func TestInsideMoved(t *testing.T) {
	for _, to := range []string{"moved", "deep/er/moved"} {
		t.Run(to, func(t *testing.T) {
			root := t.TempDir()
			s, err := engine.OpenInside(t.Context(), t.TempDir(), workertest.Source(t), engine.Inside{ID: "t", Root: root, Dir: "/"})
			if err != nil {
				t.Fatal(err)
			}
			scratch, moved := filepath.Join(root, "plimsoll-inside-t"), filepath.Join(root, to)
			if err := os.MkdirAll(filepath.Dir(moved), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(scratch, "file"), []byte("30 MiB"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(scratch, moved); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(scratch, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(scratch, "mine"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(context.Background()); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(moved); !os.IsNotExist(err) {
				t.Errorf("%s: %v", moved, err)
			}
			if got := list(t, scratch); got != "mine" {
				t.Errorf("in the folder that was put in its place is %q", got)
			}
			if got := list(t, filepath.Dir(moved)); strings.Contains(got, "moved") {
				t.Errorf("left %q", got)
			}
		})
	}
}

// TestInsideJoins: the worker and its trials are in the groups that were named.
func TestInsideJoins(t *testing.T) {
	enginetest.NeedRoot(t)
	var hierarchies []string
	for _, dir := range []string{"/sys/fs/cgroup/blkio", "/sys/fs/cgroup/memory", "/sys/fs/cgroup"} {
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err == nil {
			hierarchies = append(hierarchies, dir)
		}
	}
	if len(hierarchies) == 0 {
		t.Skip("needs a mounted cgroup hierarchy")
	}
	name := "plimsoll-test-inside-" + strconv.Itoa(os.Getpid())
	leaktest.Check(t, name)
	var groups []string
	for _, h := range hierarchies {
		g := filepath.Join(h, name)
		if err := os.Mkdir(g, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			for range 50 {
				if syscall.Rmdir(g) == nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
		groups = append(groups, g)
	}
	a, err := openInside(t, t.TempDir(), "/", groups...)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		b, err := os.ReadFile(filepath.Join(g, "cgroup.procs"))
		if err != nil || strings.TrimSpace(string(b)) != strconv.Itoa(a.Info().PID) {
			t.Errorf("%s holds %q (%v), want the worker %d", g, b, err, a.Info().PID)
		}
	}
	if err := a.Prepare(t.Context(), "1", workload.Spec{Name: "w", Kind: workload.WAL, Runtime: time.Hour}); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		if b, _ := os.ReadFile(filepath.Join(g, "cgroup.procs")); len(strings.Fields(string(b))) != 2 {
			t.Errorf("%s holds %q, want the worker and its trial", g, b)
		}
	}
	if _, err := openInside(t, t.TempDir(), "/", filepath.Join(groups[0], "absent")); err == nil || !strings.Contains(err.Error(), "did the container end?") {
		t.Errorf("a group that is gone: %v", err)
	}
}
