package oci_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/enginetest"
	"plimsoll/internal/measure/engine/oci"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/leaktest"
	"plimsoll/internal/testkit/workertest"
	"plimsoll/internal/text/refusal"
)

// TestOCINoRuntime: a program that ends well and is no runtime is not one.
func TestOCINoRuntime(t *testing.T) {
	enginetest.NeedRoot(t)
	t.Parallel() // It waits out the time that a runtime has to answer.
	e := oci.New(t.TempDir(), workertest.Source(t), exec.LookPath)
	for name, x := range map[string]struct {
		path string
		// there: it is, and fails; what isn't there is no fault of the machine's.
		there bool
	}{
		"true":        {"/bin/true", true},
		"says 1":      {script(t, "echo 1"), true},
		"says much":   {script(t, "while echo plimsoll-worker 1; do :; done"), true},
		"binary":      {script(t, "head -c 100000 /dev/urandom"), true},
		"not there":   {"/nowhere/runtime", false},
		"folder":      {"/etc", false},
		"not for us":  {"/etc/passwd", false},
		"fails":       {script(t, "echo no such thing >&2; exit 7"), true},
		"says a word": {script(t, "printf '\\033[31mhello'"), true},
	} {
		err := measureOCI(t, e, engine.Spec{Runtime: x.path, Place: place.Spec{Name: "layer", Kind: place.Layer}})
		var u *refusal.Error
		switch unsupported := errors.As(err, &u); {
		case x.there && (err == nil || unsupported || !strings.Contains(err.Error(), "is installed but can't run a container here")):
			t.Errorf("%s: Open() = %v, want a runtime that fails", name, err)
		case !x.there && (!unsupported || u.What != "runtime "+x.path || u.Fix == ""):
			t.Errorf("%s: Open() = %v, want its runtime refused", name, err)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%s: error %q", name, err)
		}
	}
	for name, path := range runtimes(t) {
		if err := measureOCI(t, e, engine.Spec{Runtime: path, Place: place.Spec{Name: "layer", Kind: place.Layer}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOCIForeignRuntime: a runtime that another user can write to or exchange is not
// run, not even to ask for its version.
func TestOCIForeignRuntime(t *testing.T) {
	enginetest.NeedRoot(t)
	for name, row := range map[string]struct {
		spoil func(path string) error
		want  string
	}{
		"another's":        {func(p string) error { return os.Chown(p, 12345, 0) }, "belongs to user 12345"},
		"world-writable":   {func(p string) error { return os.Chmod(p, 0o757) }, "everyone may write"},
		"group-writable":   {func(p string) error { return errors.Join(os.Chown(p, 0, 12345), os.Chmod(p, 0o775)) }, "group 12345 may write"},
		"another's folder": {func(p string) error { return os.Chown(filepath.Dir(p), 12345, 0) }, "belongs to user 12345"},
		"world's folder":   {func(p string) error { return os.Chmod(filepath.Dir(p), 0o777) }, "everyone may write"},
		"another's, sticky": {func(p string) error {
			return errors.Join(os.Chown(filepath.Dir(p), 12345, 0), os.Chmod(filepath.Dir(p), 0o777|os.ModeSticky))
		}, "belongs to user 12345"},
		"set by another link": {func(p string) error {
			return errors.Join(os.Chown(p, 12345, 0), os.Rename(p, p+"2"), os.Symlink(p+"2", p))
		}, "belongs to user 12345"},
	} {
		ran := filepath.Join(t.TempDir(), "ran")
		path := script(t, "echo >"+ran+"; exec runc \"$@\"")
		if err := row.spoil(path); err != nil {
			t.Fatal(err)
		}
		e := oci.New(t.TempDir(), workertest.Source(t), exec.LookPath)
		err := measureOCI(t, e, engine.Spec{Runtime: path, Place: place.Spec{Name: "layer", Kind: place.Layer}})
		var u *refusal.Error
		if !errors.As(err, &u) || !strings.Contains(u.Why, row.want) {
			t.Errorf("%s: Open() = %v, want %q", name, err, row.want)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Errorf("%s: it was run", name)
		}
	}
}

// TestOCIHangingRuntime: a runtime that hangs while it starts a container is given up
// in time, and what it has made by then is gone: the process in the container's group, the
// group, the folders and the journal's entry.
func TestOCIHangingRuntime(t *testing.T) {
	enginetest.NeedRoot(t)
	group := "/sys/fs/cgroup/pids/"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		group = "/sys/fs/cgroup/"
	}
	pidFile := filepath.Join(t.TempDir(), "pid")
	// The container's first process, in its group and in a session of its own, as
	// a runtime's is; then the runtime hangs with a child that holds its output.
	hang := script(t, `for id; do :; done
case $id in plimsoll-probe-*) exec runc "$@";; esac
case $* in *" run "*) ;; *) exec runc "$@";; esac
mkdir "`+group+`$id"
setsid sh -c 'echo $$ >"$0/cgroup.procs"; echo $$ >"$1"; exec sleep 1000' "`+group+`$id" "`+pidFile+`" >/dev/null 2>&1 </dev/null &
sleep 1000 &
wait`)
	state := t.TempDir()
	e := oci.New(state, workertest.Source(t), exec.LookPath)
	id := enginetest.ID()
	leaktest.Check(t, id)
	s, err := e.Open(t.Context(), engine.Spec{ID: id, Runtime: hang, Place: place.Spec{Name: "bind", Kind: place.Bind}})
	if err != nil {
		t.Fatal(err)
	}
	pid := waitPID(t, pidFile)
	cause := errors.New("time is up")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, cause)
	defer cancel()
	if _, err := agent.Open(ctx, s); !errors.Is(err, cause) {
		t.Errorf("agent.Open() = %v, want that time is up", err)
	}
	if err := s.Close(ctx); err != nil {
		t.Errorf("Close() = %v", err)
	}
	wantGone(t, pid)
	wantEmpty(t, state)
}

// waitPID reads a process id that a program is about to write.
func waitPID(t *testing.T, path string) int {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		b, err := os.ReadFile(path)
		if err != nil || !strings.HasSuffix(string(b), "\n") {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	t.Fatalf("nothing was written to %s", path)
	return 0
}

// wantGone checks that a sleep of these tests has ended. The process that inherits it may take a while to
// wait for it.
func wantGone(t *testing.T, pid int) {
	t.Helper()
	path := fmt.Sprintf("/proc/%d/cmdline", pid)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		b, err := os.ReadFile(path)
		if err != nil || len(b) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("process %d still runs %q", pid, b)
			syscall.Kill(pid, syscall.SIGKILL)
			return
		}
	}
}

// wantEmpty checks that no session has left anything in a state folder.
func wantEmpty(t *testing.T, state string) {
	t.Helper()
	for _, pattern := range []string{"sessions/*", "oci/plimsoll-*", "oci/state/*", "data/*"} {
		if left, _ := filepath.Glob(filepath.Join(state, pattern)); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}

// TestOCIHangingProbe: a runtime that hangs whatever it is asked is given up, and the next
// one is taken.
func TestOCIHangingProbe(t *testing.T) {
	enginetest.NeedRoot(t)
	t.Parallel() // It waits out the time that a runtime has to answer.
	runc, err := exec.LookPath("runc")
	if err != nil {
		t.Skip("runc is needed")
	}
	hang := script(t, "sleep 1000 & sleep 1000")
	state := t.TempDir()
	e := oci.New(state, workertest.Source(t), func(name string) (string, error) {
		return map[string]string{"crun": hang, "runc": runc}[name], nil
	})
	oci.SetTryTimeout(e, 6*time.Second) // On a busy machine runc takes seconds.
	p := e.Probe(t.Context())
	if !p.OK || !strings.HasPrefix(p.Version, "runc ") {
		t.Errorf("Probe() = %+v, want runc", p)
	}
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "did not end") {
		t.Errorf("notes %q, want one about the other runtime", p.Notes)
	}
	wantEmpty(t, state)
}

// TestOCIHangingOnly: an engine whose only runtime hangs is here and has failed, and is not one that isn't here. So has a
// runtime that was asked for by name.
func TestOCIHangingOnly(t *testing.T) {
	enginetest.NeedRoot(t)
	t.Parallel() // It waits out the time that a runtime has to answer.
	hang := script(t, "sleep 1000 & sleep 1000")
	state := t.TempDir()
	e := oci.New(state, workertest.Source(t), look(map[string]string{"crun": hang}))
	oci.SetTryTimeout(e, time.Second)
	p := e.Probe(t.Context())
	if p.OK || !p.Failed {
		t.Errorf("Probe() = %+v, want it failed", p)
	}
	if !strings.Contains(p.Missing, "did not end") || !strings.Contains(p.Missing, "runc is not installed") {
		t.Errorf("missing: %q, want crun that did not end, and runc that is not installed", p.Missing)
	}
	_, err := e.Open(t.Context(), engine.Spec{ID: enginetest.ID(), Place: place.Spec{Name: "layer", Kind: place.Layer}})
	if u := (*refusal.Error)(nil); err == nil || errors.As(err, &u) {
		t.Errorf("Open() = %v, want an error that is no refusal", err)
	}
	wantEmpty(t, state)
}

// TestOCIPaused: Close ends a container even if another program has paused it.
func TestOCIPaused(t *testing.T) {
	enginetest.NeedRoot(t)
	for name, path := range runtimes(t) {
		t.Run(name, func(t *testing.T) {
			state := t.TempDir()
			e := oci.New(state, workertest.Source(t), exec.LookPath)
			id := enginetest.ID()
			leaktest.Check(t, id)
			s, err := e.Open(t.Context(), engine.Spec{ID: id, Runtime: path, Place: place.Spec{Name: "layer", Kind: place.Layer}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := agent.Open(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(path, "--root", filepath.Join(state, "oci", "state"), "pause", "plimsoll-"+id).CombinedOutput(); err != nil {
				t.Fatalf("pause: %v: %s", err, out)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := s.Close(ctx); err != nil {
				t.Errorf("Close() = %v", err)
			}
			wantEmpty(t, state)
		})
	}
}

// TestOCILatePID: a runtime may write the process id only after the worker has said hello. A caller that
// asks in between gets it all the same.
func TestOCILatePID(t *testing.T) {
	enginetest.NeedRoot(t)
	if _, err := exec.LookPath("runc"); err != nil {
		t.Skip("runc is needed")
	}
	late := script(t, `for id; do :; done
case $id in plimsoll-probe-*) exec runc "$@";; esac
case $* in *" run "*) ;; *) exec runc "$@";; esac
(while ! [ -s "$5/late" ]; do sleep 0.01; done; sleep 0.05; mv "$5/late" "$5/pid") &
exec runc "$1" "$2" run --bundle "$5" --pid-file "$5/late" "$id"`)
	e := oci.New(t.TempDir(), workertest.Source(t), exec.LookPath)
	id := enginetest.ID()
	leaktest.Check(t, id)
	s, err := e.Open(t.Context(), engine.Spec{ID: id, Runtime: late, Place: place.Spec{Name: "layer", Kind: place.Layer}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	if _, err := agent.Open(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if pid := s.Info().PID; pid == 0 {
		t.Error("the process id is not known")
	}
}

// TestOCIHangingVersion: a runtime that answers nothing costs the time that the message
// says, once, however many containers are asked for.
func TestOCIHangingVersion(t *testing.T) {
	enginetest.NeedRoot(t)
	t.Parallel() // It waits out the time that a runtime has to answer.
	asked := filepath.Join(t.TempDir(), "asked")
	path := script(t, "echo x >>"+asked+"; sleep 1000")
	e := oci.New(t.TempDir(), workertest.Source(t), exec.LookPath)
	oci.SetTryTimeout(e, 6*time.Second)
	spec := engine.Spec{ID: enginetest.ID(), Runtime: path, Place: place.Spec{Name: "layer", Kind: place.Layer}}
	// The caller's patience may end a moment before the runtime's time does.
	ctx, cancel := context.WithTimeout(t.Context(), 5800*time.Millisecond)
	defer cancel()
	for range 3 {
		_, err := e.Open(ctx, spec)
		if u := (*refusal.Error)(nil); err == nil || errors.As(err, &u) || !strings.Contains(err.Error(), "did not end within 6s") {
			t.Errorf("Open() = %v, want that it did not end, and no refusal", err)
		}
	}
	// Each question may take all of the time.
	if b, err := os.ReadFile(asked); err != nil || string(b) != "x\n" {
		t.Errorf("the runtime was asked %d times (%v), want once", len(b)/2, err)
	}
}

// TestOCIRelativeState: a state folder that is named by a path from the current folder is the same one to the
// runtime, which finds its container there.
func TestOCIRelativeState(t *testing.T) {
	enginetest.NeedRoot(t)
	source := workertest.Source(t)
	if _, err := source(runtime.GOOS, runtime.GOARCH); err != nil { // It is built from the package's folder.
		t.Fatal(err)
	}
	for name, path := range runtimes(t) {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			e := oci.New("st", source, exec.LookPath)
			id := enginetest.ID()
			leaktest.Check(t, id)
			s, err := e.Open(t.Context(), engine.Spec{ID: id, Runtime: path, Place: place.Spec{Name: "bind", Kind: place.Bind}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := agent.Open(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if known, _ := filepath.Glob(filepath.Join(dir, "st", "oci", "state", "*"+id)); len(known) != 1 {
				t.Errorf("the runtime keeps its container elsewhere: %q", known)
			}
			if err := s.Close(t.Context()); err != nil {
				t.Errorf("Close() = %v", err)
			}
			wantEmpty(t, filepath.Join(dir, "st"))
			if _, err := os.Stat(filepath.Join(dir, "st", "oci", "st")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("it made a state folder of its own: %v", err)
			}
		})
	}
}
