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

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/enginetest"
	"plimsoll/internal/measure/engine/oci"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/workertest"
)

// look finds those programs only, by name.
func look(paths map[string]string) func(string) (string, error) {
	return func(name string) (string, error) {
		if p := paths[name]; p != "" {
			return p, nil
		}
		return "", errors.New("not found")
	}
}

// TestOCIRuntimeChoice: a runtime is chosen because it ran a container, not because
// it is installed.
func TestOCIRuntimeChoice(t *testing.T) {
	enginetest.NeedRoot(t)
	runc, err := exec.LookPath("runc")
	if err != nil {
		t.Skip("runc is needed")
	}
	broken := script(t, "case $1 in --version) echo crun version 1.8.1;; *) echo cgroups in hybrid mode not supported >&2; exit 1;; esac")

	p := oci.New(t.TempDir(), workertest.Source(t), look(map[string]string{"crun": broken, "runc": runc})).Probe(t.Context())
	if !p.OK || !strings.HasPrefix(p.Version, "runc ") {
		t.Errorf("with a broken crun: %+v, want runc", p)
	}
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "crun 1.8.1") || !strings.Contains(p.Notes[0], "hybrid") {
		t.Errorf("notes = %q, want crun's refusal", p.Notes)
	}

	p = oci.New(t.TempDir(), workertest.Source(t), look(map[string]string{"crun": broken})).Probe(t.Context())
	if p.OK || !strings.Contains(p.Missing, "hybrid") || !strings.Contains(p.Fix, "runc") {
		t.Errorf("with a broken crun only: %+v", p)
	}

	p = oci.New(t.TempDir(), workertest.Source(t), look(nil)).Probe(t.Context())
	if p.OK || !strings.Contains(p.Missing, "runc is not installed") {
		t.Errorf("with none: %+v", p)
	}

	// runc prints this when /sys/fs/cgroup is read-only: the fault comes last.
	silent := script(t, `case $1 in --version) echo runc version 1.1.5; exit;; esac
echo 'time="2026-11-21T07:03:43Z" level=warning msg="unable to get oom kill count" error="no such file"' >&2
echo 'time="2026-11-21T07:03:43Z" level=error msg="runc run failed: mkdir \"/sys/fs/cgroup/x\": read-only file system"' >&2
exit 1`)
	p = oci.New(t.TempDir(), workertest.Source(t), look(map[string]string{"crun": broken, "runc": silent})).Probe(t.Context())
	if p.OK || !strings.Contains(p.Missing, `runc run failed: mkdir "/sys/fs/cgroup/x": read-only file system (exit status 1)`) ||
		strings.Contains(p.Missing, "oom kill") || strings.Contains(p.Fix, "install") {
		t.Errorf("with two broken ones: %+v, want runc's fault, and nothing to install", p)
	}
}

// TestOCIRuntimeGivesUp: what the runtime said is in the error of a container that
// never ran. This is what runc says where a group with processes of its own can't
// give its controllers on (cgroup v2 in a cgroup namespace).
func TestOCIRuntimeGivesUp(t *testing.T) {
	enginetest.NeedRoot(t)
	runc, err := exec.LookPath("runc")
	if err != nil {
		t.Skip("runc is needed")
	}
	fussy := script(t, `bundle=
for a; do [ "$last" = --bundle ] && bundle=$a; last=$a; done
if [ -n "$bundle" ] && grep -q '"memory":' "$bundle/config.json"; then
  echo 'time="x" level=warning msg="something else"' >&2
  echo 'time="x" level=error msg="runc run failed: write \"/sys/fs/cgroup/cgroup.subtree_control\": device or resource busy"' >&2
  exit 1
fi
exec `+runc+` "$@"`)
	e := oci.New(t.TempDir(), workertest.Source(t), look(map[string]string{"runc": fussy}))
	s, err := e.Open(t.Context(), engine.Spec{ID: "fussy", Place: place.Spec{Name: "layer", Kind: place.Layer}, Limits: limit.Limits{Memory: 64 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	if got, want := s.State(t.Context()), `exit status 1: runc run failed: write "/sys/fs/cgroup/cgroup.subtree_control": device or resource busy`; got != want {
		t.Errorf("State() = %q, want %q", got, want)
	}
	if _, err := agent.Open(t.Context(), s); err == nil || strings.Count(err.Error(), "device or resource busy") != 1 {
		t.Errorf("agent.Open() = %v, want the reason, once", err)
	}
}

// TestOCIInterruptedProbe: a runtime that was interrupted did not hang, and works the next time.
func TestOCIInterruptedProbe(t *testing.T) {
	enginetest.NeedRoot(t)
	runc, err := exec.LookPath("runc")
	if err != nil {
		t.Skip("runc is needed")
	}
	cause := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	// It is interrupted when its container is there.
	begun := filepath.Join(t.TempDir(), "begun")
	slow := script(t, "case $* in *' run '*) [ -e "+begun+" ] || { echo >"+begun+"; exec sleep 1000; };; esac; exec "+runc+` "$@"`)
	e := oci.New(t.TempDir(), workertest.Source(t), look(map[string]string{"runc": slow}))
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(begun); err == nil {
				cancel(cause)
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if p := e.Probe(ctx); p.OK || strings.Contains(p.Missing, "did not end within") || !strings.Contains(p.Missing, cause.Error()) {
		t.Errorf("Probe() = %+v, want that it was interrupted", p)
	}
	if p := e.Probe(t.Context()); !p.OK {
		t.Errorf("the next Probe() = %+v", p)
	}
}
