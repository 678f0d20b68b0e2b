package enginetest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/enginetest"
	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/engine/oci"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/workertest"
)

// TestWorkerGone: a state folder from which no program may be run any more is the fault of no cell, and one from
// which the worker was removed is none at all: it is installed again.
func TestWorkerGone(t *testing.T) {
	enginetest.NeedRoot(t)
	state := disktest.Tmpfs(t, "size=64m")
	for _, e := range []engine.Engine{
		host.New(state, workertest.Source(t)),
		oci.New(state, workertest.Source(t), exec.LookPath),
	} {
		kind := map[string]place.Kind{"host": place.Dir, "oci": place.Layer}[e.Name()]
		spec := engine.Spec{Place: place.Spec{Name: string(kind), Kind: kind}}
		open := func() error {
			spec.ID = enginetest.ID()
			s, err := e.Open(t.Context(), spec)
			if err == nil {
				err = s.Close(t.Context())
			}
			return err
		}
		gone := func() error { return e.(engine.GoneChecker).Gone(t.Context(), spec) }
		if err := open(); err != nil {
			t.Fatal(err)
		}
		for what, spoil := range map[string]func(path string) error{
			"removed":        os.Remove,
			"not executable": func(path string) error { return os.Chmod(path, 0o600) },
		} {
			workers, _ := filepath.Glob(filepath.Join(state, "cache", "worker-*", "worker"))
			if len(workers) != 1 {
				t.Fatalf("workers: %q", workers)
			}
			if err := spoil(workers[0]); err != nil {
				t.Fatal(err)
			}
			if err := gone(); err != nil {
				t.Errorf("%s: Gone() = %v with a worker that is %s", e.Name(), err, what)
			}
			if err := open(); err != nil {
				t.Errorf("%s: Open() = %v with a worker that is %s", e.Name(), err, what)
			}
		}
		if err := unix.Mount("", state, "", unix.MS_REMOUNT|unix.MS_NOEXEC, ""); err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{"Open": open(), "Gone": gone()} {
			if err == nil || !strings.Contains(err.Error(), "noexec") || !strings.Contains(err.Error(), state) {
				t.Errorf("%s: %s() = %v, want that %s is noexec", e.Name(), what, err, state)
			}
		}
		if err := unix.Mount("", state, "", unix.MS_REMOUNT, ""); err != nil {
			t.Fatal(err)
		}
	}
}
