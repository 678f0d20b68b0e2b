package oci_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/enginetest"
	"plimsoll/internal/measure/engine/oci"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/leaktest"
	"plimsoll/internal/testkit/workertest"
)

// ownRunc copies the machine's runc to where the test may remove it.
func ownRunc(t *testing.T) string {
	t.Helper()
	installed, err := exec.LookPath("runc")
	if err != nil {
		t.Skip("runc is needed")
	}
	path := filepath.Join(t.TempDir(), "runc")
	program, err := os.ReadFile(installed)
	if err == nil {
		err = os.WriteFile(path, program, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestOCIRuntimeGone: a runtime that is uninstalled while its containers run, or runs none any more, is
// distinguished from a container that doesn't start. Whatever it has made by then is removed without it, even
// where the container doesn't end by itself.
func TestOCIRuntimeGone(t *testing.T) {
	enginetest.NeedRoot(t)
	const refuses = "#!/bin/sh\necho no control groups >&2; exit 1\n"
	for name, row := range map[string]struct {
		end  func(path string) error
		want string
		mend bool // before the container is closed
	}{
		"removed": {os.Remove, "no such file", false},
		"not run": {func(p string) error { return os.Chmod(p, 0o644) }, "is not a program", true},
		"no reason": {func(p string) error {
			return errors.Join(os.Remove(p), os.WriteFile(p, []byte(refuses), 0o755)) // A running program's file can't be written to.
		}, "no control groups", true},
	} {
		t.Run(name, func(t *testing.T) {
			state, path := t.TempDir(), ownRunc(t)
			e := oci.New(state, workertest.Source(t), exec.LookPath)
			mortal := e.(engine.GoneChecker)
			spec := engine.Spec{ID: enginetest.ID(), Runtime: path, Place: place.Spec{Name: "bind", Kind: place.Bind}}
			leaktest.Check(t, spec.ID)
			if err := mortal.Gone(t.Context(), spec); err != nil {
				t.Errorf("Gone() of a runtime that was never used = %v", err)
			}
			s, err := e.Open(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			a, err := agent.Open(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if err := mortal.Gone(t.Context(), spec); err != nil {
				t.Errorf("Gone() = %v with a runtime that runs containers", err)
			}
			pid := s.Info().PID
			if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			if err := os.Link(path, path+"-spare"); err != nil {
				t.Fatal(err)
			}
			if err := row.end(path); err != nil {
				t.Fatal(err)
			}
			if err := mortal.Gone(t.Context(), spec); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("Gone() = %v, want that %s is, with %q", err, path, row.want)
			}
			// Another runtime of the same engine goes on.
			if err := mortal.Gone(t.Context(), engine.Spec{}); err != nil {
				t.Errorf("Gone() of another runtime = %v", err)
			}
			if row.mend {
				if err := errors.Join(os.Rename(path+"-spare", path), os.Chmod(path, 0o755)); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := a.Close(ctx); err != nil {
				t.Errorf("Close() = %v", err)
			}
			wantGone(t, pid)
			wantEmpty(t, state)
		})
	}
}
