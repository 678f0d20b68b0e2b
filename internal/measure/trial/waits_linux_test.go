package trial

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/oci"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/workertest"
)

// stopEngine opens sessions whose worker is stopped as soon as a trial begins, until the session's end.
type stopEngine struct{ engine.Engine }

func (e stopEngine) Open(ctx context.Context, spec engine.Spec) (engine.Session, error) {
	s, err := e.Engine.Open(ctx, spec)
	if err != nil {
		return nil, err
	}
	return stopSession{s}, nil
}

type stopSession struct{ engine.Session }

func (s stopSession) Stdin() io.WriteCloser { return stopWriter{s.Session.Stdin(), s.Session} }

func (s stopSession) Close(ctx context.Context) error {
	_ = unix.Kill(s.Info().PID, unix.SIGCONT)
	return s.Session.Close(ctx)
}

// stopWriter stops the worker when the order to start arrives.
type stopWriter struct {
	io.WriteCloser
	session engine.Session
}

func (w stopWriter) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(`{"start":`)) {
		if err := unix.Kill(w.session.Info().PID, unix.SIGSTOP); err != nil {
			return 0, err
		}
	}
	return w.WriteCloser.Write(p)
}

// TestTimeoutTellsWaits: the record of a trial that its timeout ended has what each of its processes did, in a container with the runtime
// that passes its words on.
func TestTimeoutTellsWaits(t *testing.T) {
	t.Parallel()
	r, _, host := newRunner(t, `
name: hang
workloads: {append: {kind: append, count: 200}}
engines: [host, oci]
places: {dir: {}, layer: {}}
timeout: 2s
blocks: 1
`)
	oci := oci.New(t.TempDir(), workertest.Source(t), exec.LookPath)
	if p := oci.Probe(t.Context()); !p.OK {
		t.Skipf("needs an OCI runtime: %s", p.Missing)
	}
	r.Engines = map[string]engine.Engine{"host": stopEngine{host}, "oci": stopEngine{oci}}
	begin(t, r)
	r.choose(nil)
	for _, row := range []struct {
		cell  record.Cell
		lines int
	}{
		{record.Cell{Workload: "append", Engine: "host", Place: "dir"}, 2},
		{record.Cell{Workload: "append", Engine: "oci", Place: "layer"}, 3},
	} {
		row.cell.Limits, row.cell.Clients = r.Plan.Limits[0].Name, 1
		tr, err := r.trial(t.Context(), row.cell, 0, 0)
		if err == nil || tr.Phase != "timeout" || !strings.Contains(tr.Error, "the worker doesn't answer (it was in the phase run, for ") {
			t.Errorf("%s: %s at %s: %s", row.cell.Engine, tr.Status, tr.Phase, tr.Error)
		}
		// A trial may still get its start, and be done: of what has ended the kernel has 15 bytes of the name.
		all := strings.Join(tr.Waits, "\n")
		if len(tr.Waits) != row.lines {
			t.Errorf("%s: %d lines, want %d:\n%s", row.cell.Engine, len(tr.Waits), row.lines, all)
		}
		if !strings.Contains(all, "worker agent (process ") || strings.Count(all, "worke") != 2 {
			t.Errorf("%s: want the agent and its worker:\n%s", row.cell.Engine, all)
		}
		if n := strings.Count(all, " stopped"); n != 1 {
			t.Errorf("%s: %d are stopped, want 1:\n%s", row.cell.Engine, n, all)
		}
	}
}

// neverEngine opens nothing, and waits until its context ends.
type neverEngine struct{ engine.Engine }

func (neverEngine) Open(ctx context.Context, _ engine.Spec) (engine.Session, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// slowWitness looks for longer than the timeout.
type slowWitness time.Duration

func (w slowWitness) Before([]*agent.Agent, string) func(*record.Trial) {
	time.Sleep(time.Duration(w))
	return func(*record.Trial) {}
}

// TestTimeoutBeforeStart: a worker is not blamed for what plimsoll itself waited for.
func TestTimeoutBeforeStart(t *testing.T) {
	t.Parallel()
	r, _, host := newRunner(t, "name: slow\nworkloads: {append: {kind: append, count: 200}}\nengines: [host]\nplaces: {dir: {}}\ntimeout: 1s\nblocks: 1\n")
	r.Witness = slowWitness(1100 * time.Millisecond)
	begin(t, r)
	r.choose(nil)
	tr, err := r.trial(t.Context(), record.Cell{Workload: "append", Engine: "host", Place: "dir", Limits: r.Plan.Limits[0].Name, Clients: 1}, 0, 0)
	if err == nil || tr.Phase != "timeout" {
		t.Errorf("%s at %s: %v, want a timeout", tr.Status, tr.Phase, err)
	}
	if !strings.Contains(tr.Error, "its workers were ready, but looking at the storage and setting the limits took 1.") {
		t.Errorf("%q does not name the cause", tr.Error)
	}
	if strings.Contains(tr.Error, "phase") {
		t.Errorf("%q has a phase, but the workers were ready", tr.Error)
	}
	begin(t, r)
	r.Engines["host"] = neverEngine{host}
	tr, err = r.trial(t.Context(), record.Cell{Workload: "append", Engine: "host", Place: "dir", Limits: r.Plan.Limits[0].Name, Clients: 1}, 0, 0)
	if err == nil || tr.Phase != "timeout" || !strings.HasSuffix(tr.Error, "timeout of 1s, while its containers were opened") {
		t.Errorf("%s at %s: %s", tr.Status, tr.Phase, tr.Error)
	}
}
