package agent

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/wire"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/paralleltest"
	"plimsoll/internal/testkit/workertest"
	"plimsoll/load"
)

// Most tests wait, for a worker that doesn't answer or doesn't end.
func TestMain(m *testing.M) { paralleltest.Main(m, 8) }

// session opens a worker on the host: the real one, or a script in its place.
func session(t *testing.T, script string) engine.Session {
	t.Helper()
	source := workertest.Source(t)
	if script != "" {
		source = func(string, string) ([]byte, error) { return []byte("#!/bin/sh\n" + script + "\n"), nil }
	}
	s, err := host.New(t.TempDir(), source).Open(t.Context(), engine.Spec{ID: "a", Place: place.Spec{Kind: place.Dir}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

const hello = `echo '{"hello":{"version":6}}'; `

var (
	short = workload.Spec{Name: "short", Kind: workload.Append, Count: 20}
	long  = workload.Spec{Name: "long", Kind: workload.WAL, Runtime: time.Hour}
	slow  = workload.Spec{Name: "slow", Kind: workload.Tree, Count: 1_000_000, BS: 1}
)

func TestOpenBad(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, script, want string }{
		{"ends", "exit 3", "did not start: exit status 3"},
		{"last words", "echo first >&2; echo no such folder >&2; exit 3", "did not start: no such folder (exit status 3)"},
		{"garbage", "echo exec format error", "not a message"},
		{"not hello", `echo '{"ready":{"id":"1"}}'; cat >/dev/null`, "not hello"},
		{"other version", `echo '{"hello":{"version":99}}'; cat >/dev/null`, "version 99"},
	} {
		_, err := Open(t.Context(), session(t, row.script))
		if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: Open() = %v, want ErrLost with %q", row.name, err, row.want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, session(t, "cat >/dev/null")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("silence: Open() = %v, want the deadline", err)
	}
}

// TestProbe: a worker tries the I/O engines when it is asked, once, and leaves no file behind.
func TestProbe(t *testing.T) {
	t.Parallel()
	s := session(t, "")
	a, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	probes, err := a.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	works := map[string]bool{}
	for _, p := range probes {
		works[p.Engine] = p.OK
	}
	if !works[load.PSync] || !works[load.Null] || len(works) != 4 {
		t.Errorf("Probe() = %+v, want four engines, and that psync and null work", probes)
	}
	if left, err := os.ReadDir(s.Info().HostPath); err != nil || len(left) > 0 {
		t.Errorf("left in the worker's folder: %v, %v", left, err)
	}
	a.out = wire.NewWriter(io.Discard)
	if again, err := a.Probe(t.Context()); err != nil || !slices.Equal(again, probes) {
		t.Errorf("Probe() = %+v, %v the second time, want what it said before", again, err)
	}
}

// TestProbeBad: a worker that doesn't answer, or something else, is not used again.
func TestProbeBad(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, script, want string }{
		{"dies", "read line; exit 4", "exit status 4"},
		{"silence", "cat >/dev/null", "which I/O engines work"},
		{"something else", `read line; echo '{"ready":{"id":"1"}}'; cat >/dev/null`, "does not list the I/O engines"},
		{"garbage", "read line; echo Segmentation fault; cat >/dev/null", "not a message"},
	} {
		a, err := Open(t.Context(), session(t, hello+row.script))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if _, err := a.Probe(ctx); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: Probe() = %v, want %q in it", row.name, err, row.want)
		}
		cancel()
		if a.Fit() {
			t.Errorf("%s: it is still fit", row.name)
		}
	}
}

// TestDies: a worker that goes is an error that tells how, whichever call meets it.
func TestDies(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		hello + "echo last words >&2; exit 4",                       // Before the request.
		hello + "exec 0<&-; sleep 0.1; echo last words >&2; exit 4", // The request can't be written.
		hello + "read line; echo last words >&2; exit 4",            // After it.
	} {
		a, err := Open(t.Context(), session(t, script))
		if err != nil {
			t.Fatal(err)
		}
		err = a.Prepare(t.Context(), "1", short)
		var te *TrialError
		if !errors.As(err, &te) || !errors.Is(err, ErrLost) {
			t.Fatalf("%s: Prepare() = %#v, want a TrialError with ErrLost", script, err)
		}
		if te.Phase != "worker" || !strings.Contains(te.Text, "exit status 4") {
			t.Errorf("%s: phase %q, %q, want worker, exit status 4", script, te.Phase, te.Text)
		}
		if te.Log != "last words" {
			t.Errorf("%s: log %q, want the last words", script, te.Log)
		}
		if a.Fit() {
			t.Errorf("%s: a lost worker is fit", script)
		}
		a.Stop() // Has nothing to stop and does not hang.
	}
}

// TestDeaf: a worker that doesn't obey is given up after the grace.
func TestDeaf(t *testing.T) {
	t.Parallel()
	a, err := Open(t.Context(), session(t, hello+"while read line; do :; done"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := a.Prepare(ctx, "1", short); !errors.Is(err, ErrLost) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Prepare() = %v, want the deadline and ErrLost", err)
	}
	if a.Fit() {
		t.Error("a worker that didn't stop is fit")
	}
}

// TestTimeoutInPrepare: the trial is gone when Prepare returns, and the session is
// fit for the next.
func TestTimeoutInPrepare(t *testing.T) {
	t.Parallel()
	a, err := Open(t.Context(), session(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, cause)
	defer cancel()
	err = a.Prepare(ctx, "1", slow)
	var te *TrialError
	if !errors.Is(err, cause) || errors.Is(err, ErrLost) {
		t.Errorf("Prepare() = %#v, want the cause", err)
	}
	if !errors.As(err, &te) {
		t.Fatalf("Prepare() = %#v, want a TrialError", err)
	}
	if te.Phase != wire.PhasePrepare || te.Signal != "" {
		t.Errorf("phase %q, signal %q, want %q and none", te.Phase, te.Signal, wire.PhasePrepare)
	}
	if !a.Fit() || a.open != "" {
		t.Errorf("fit %v, open %q", a.Fit(), a.open)
	}
	whole(t, a, "2")
}

// TestDoneWhenStopped: a trial whose result comes when it is stopped failed as others do.
func TestDoneWhenStopped(t *testing.T) {
	t.Parallel()
	a, err := Open(t.Context(), session(t, hello+`read run; echo '{"ready":{"id":"1"}}'; read start; read stop; echo '{"result":{"id":"1"}}'; cat >/dev/null`))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Prepare(t.Context(), "1", short); err != nil {
		t.Fatal(err)
	}
	if err := a.Start("1"); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, err = a.Wait(ctx, "1", nil)
	var te *TrialError
	if !errors.As(err, &te) || te.Phase != wire.PhaseRun || !errors.Is(err, cause) {
		t.Errorf("Wait() = %#v, want a TrialError in phase %s with the cause", err, wire.PhaseRun)
	}
	if !a.Fit() {
		t.Error("after the interrupt the agent is not fit")
	}
}

// whole runs a short trial.
func whole(t *testing.T, a *Agent, id string) {
	t.Helper()
	if err := a.Prepare(t.Context(), id, short); err != nil {
		t.Fatal(err)
	}
	if err := a.Start(id); err != nil {
		t.Fatal(err)
	}
	res, err := a.Wait(t.Context(), id, nil)
	if err != nil || res.Ops() != int64(short.Count) {
		t.Fatalf("Wait() = %+v, %v", res, err)
	}
}

// TestStop: a trial that is ready or runs is ended, without a trace in the next.
func TestStop(t *testing.T) {
	t.Parallel()
	a, err := Open(t.Context(), session(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	a.Stop()
	for _, started := range []bool{false, true} {
		if err := a.Prepare(t.Context(), "long", long); err != nil {
			t.Fatal(err)
		}
		if started {
			if err := a.Start("long"); err != nil {
				t.Fatal(err)
			}
		}
		a.Stop()
		if !a.Fit() || a.open != "" {
			t.Errorf("started %v: fit %v, open %q", started, a.Fit(), a.open)
		}
		whole(t, a, "next")
	}
	if err := a.Start("gone"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Wait(t.Context(), "gone", nil); err == nil || !strings.Contains(err.Error(), "no such trial") {
		t.Errorf("Wait for a trial that isn't there = %v", err)
	}
}

// TestCloseFlooded: Close ends a worker whose messages are no longer wanted, and leaves
// no goroutine.
func TestCloseFlooded(t *testing.T) {
	before := runtime.NumGoroutine()
	s := session(t, hello+`while echo '{"sample":{"id":"x"}}'; do :; done`)
	a, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Close(ctx); err != nil {
		t.Errorf("Close() = %v", err)
	}
	deadline := time.Now().Add(time.Minute)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before {
		b := make([]byte, 64<<10)
		t.Errorf("%d goroutines, %d before:\n%s", n, before, b[:runtime.Stack(b, true)])
	}
	if _, err := io.ReadAll(s.Stdout()); err == nil {
		t.Error("the worker's output is still open")
	}
}

// TestSettling: Wait passes on how far buffered writes are, and only those of its own trial.
func TestSettling(t *testing.T) {
	s := session(t, hello+`read run; echo '{"ready":{"id":"1"}}'; read start; for n in 30 20 -1; do echo '{"settling":{"id":"1","left":'$n'}}'; echo '{"settling":{"id":"0","left":7}}'; done
echo '{"result":{"id":"1","elapsed":1,"classes":[{"name":"write"}]}}'; cat >/dev/null`)
	a, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Prepare(t.Context(), "1", short); err != nil {
		t.Fatal(err)
	}
	if err := a.Start("1"); err != nil {
		t.Fatal(err)
	}
	var left []int64
	on := Events{Settling: func(n int64) { left = append(left, n) }}
	if _, err := a.Hear(t.Context(), "1", on); err != nil || !slices.Equal(left, []int64{30, 20, -1}) {
		t.Errorf("Wait() = %v, left %v", err, left)
	}
}
