//go:build linux

package enginetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/seccomp"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/wire"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/leaktest"
	"plimsoll/internal/text/refusal"
	"plimsoll/load"
)

// A Suite says what is tested.
type Suite struct {
	// New makes the engine. It is called once a test.
	New func(t *testing.T) engine.Engine
	// Places are those that the engine must offer on this machine.
	Places []place.Kind
	// Memory is set if the engine can limit memory here.
	Memory bool
	// Guest is set if workers run in a virtual machine, whose processes can't be seen from here.
	Guest bool
	// Share is set for an engine that differs from one with a suite of its own only in how place.Bind, the first of Places, is
	// served: what doesn't touch that place is left to the other suite.
	Share bool
	// Beside is set if the tests run beside each other, and beside the package's other parallel tests.
	Beside bool
	// Only names the tests that run, nil for all: a second program that serves the same engine repeats only what it may do otherwise.
	Only []string
}

// Run runs the suite.
func (s Suite) Run(t *testing.T) {
	tests := map[string]func(*testing.T, Suite){
		"Probe":       testProbe,
		"Workloads":   testWorkloads,
		"Sources":     testSources,
		"Unsupported": testUnsupported,
		"Buffers":     testBuffers,
		"EndOfInput":  testEndOfInput,
		"KilledAgent": testKilledAgent,
		"KilledTrial": testKilledTrial,
		"Stop":        testStop,
		"HardClose":   testHardClose,

		"OutsideMemory": testOutsideMemory,
	}
	if s.Guest {
		delete(tests, "KilledTrial")
	}
	if s.Memory {
		tests["OutOfMemory"] = testOutOfMemory
	}
	if s.Share {
		// Buffers are the worker's, and the end of input is its agent's.
		for _, name := range []string{"Unsupported", "OutsideMemory", "OutOfMemory", "Buffers", "EndOfInput"} {
			delete(tests, name)
		}
	}
	for _, name := range s.Only {
		if tests[name] == nil && name != "OpenFiles" {
			t.Fatalf("the suite has no test %s", name)
		}
	}
	if !s.Share && (len(s.Only) == 0 || slices.Contains(s.Only, "OpenFiles")) {
		t.Run("OpenFiles", func(t *testing.T) { testOpenFiles(t, s) }) // Alone: it lowers a limit of the whole process.
	}
	s.parallel(t)
	for name, f := range tests {
		if len(s.Only) > 0 && !slices.Contains(s.Only, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s.parallel(t)
			f(t, s)
		})
	}
}

func (s Suite) parallel(t *testing.T) {
	if s.Beside {
		t.Parallel()
	}
}

// tests reports whether what uses these places is this suite's to test.
func (s Suite) tests(kinds ...place.Kind) bool {
	return !s.Share || slices.Contains(kinds, place.Bind)
}

// patience is how long a session or a trial may take: no test fails on a timing, and a machine with an emulated processor takes
// minutes to boot beside other work.
const patience = 5 * time.Minute

var ids atomic.Int64

// open starts an agent in a place and checks at the test's end that nothing of
// it is left.
func open(t *testing.T, e engine.Engine, spec engine.Spec) *agent.Agent {
	t.Helper()
	a, err := tryOpen(t, e, spec)
	if err != nil {
		t.Fatalf("Open(%s) = %v", spec.Place.Kind, err)
	}
	return a
}

func tryOpen(t *testing.T, e engine.Engine, spec engine.Spec) (*agent.Agent, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	spec.ID = fmt.Sprintf("t%d-%d-%d", os.Getpid(), time.Now().UnixNano()%1e6, ids.Add(1))
	leaktest.Check(t, spec.ID)
	if spec.Place.Kind == place.Bind || spec.Place.Kind == place.Dir {
		spec.Place.Path = t.TempDir()
		dir := spec.Place.Path
		t.Cleanup(func() {
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("left in the place: %v", left)
			}
		})
	}
	s, err := e.Open(ctx, spec)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		path := s.Info().HostPath
		if err := s.Close(ctx); err != nil {
			t.Errorf("Close() = %v", err)
		}
		if _, err := os.Stat(path); path != "" && err == nil {
			t.Errorf("the data is still there: %s", path)
		}
	})
	a, err := agent.Open(ctx, s)
	if err != nil {
		t.Logf("log: %s", s.Log())
		return nil, err
	}
	return a, nil
}

func spec(kind place.Kind) engine.Spec {
	return engine.Spec{Place: place.Spec{Name: string(kind), Kind: kind}}
}

func testProbe(t *testing.T, s Suite) {
	p := s.New(t).Probe(t.Context())
	if !p.OK {
		t.Fatalf("Probe() = %+v, want OK", p)
	}
	for _, k := range s.Places {
		if !slices.Contains(p.Places, k) {
			t.Errorf("Probe().Places = %v, want %s too", p.Places, k)
		}
	}
}

// testBuffers: io_uring with buffers far above the usual RLIMIT_MEMLOCK (8 MiB) gets them
// registered everywhere, as it does on the host: else the engines are not alike. What is counted is
// the user's, so that 8 MiB alone would show nothing.
func testBuffers(t *testing.T, s Suite) {
	e, sp := s.New(t), spec(s.Places[0])
	if e.Name() != "host" {
		sp.Seccomp = seccomp.Unconfined // Docker's own profile forbids io_uring.
	}
	a := open(t, e, sp)
	probes, err := a.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range probes {
		if p.Engine == load.IOUring && !p.OK {
			t.Skipf("io_uring is needed: %s", p.Reason)
		}
	}
	job := load.Job{RW: load.Read, BS: 1 << 20, Size: 4 << 20, IODepth: 64, NumberIOs: 4, IOEngine: load.IOUring}
	res, err := trial(t, a, "1", workload.Spec{Name: "large", Kind: workload.Block, Job: job})
	if err != nil {
		t.Fatal(err)
	}
	if res.Buffers != load.BuffersRegistered {
		t.Errorf("Buffers = %q (notes %q), want %q", res.Buffers, res.Notes, load.BuffersRegistered)
	}
}

// workloads is one small workload of each kind. Block jobs end by their number: a
// slow machine does none in a few milliseconds.
var workloads = []workload.Spec{
	{Name: "append", Kind: workload.Append, Count: 50},
	{Name: "wal", Kind: workload.WAL, Runtime: 20 * time.Millisecond},
	{Name: "tree", Kind: workload.Tree, Count: 50, BS: 1024},
	{Name: "block", Kind: workload.Block, Job: load.Job{RW: load.RandRead, BS: 4096, Size: 1 << 20, NumberIOs: 50, Direct: true, IOEngine: load.PSync}},
	{Name: "blockwrite", Kind: workload.Block, Job: load.Job{RW: load.RandWrite, BS: 4096, Size: 1 << 20, NumberIOs: 50}},
}

func testWorkloads(t *testing.T, s Suite) {
	e := s.New(t)
	for _, kind := range s.Places {
		if !s.tests(kind) {
			continue
		}
		t.Run(string(kind), func(t *testing.T) {
			a := open(t, e, spec(kind))
			if a.Hello.Mount.FSType == "" {
				t.Errorf("the worker doesn't know its mount: %+v", a.Hello)
			}
			for i, w := range workloads {
				res, err := trial(t, a, fmt.Sprint(i), w)
				if err != nil {
					t.Errorf("%s: %v", w.Name, err)
					continue
				}
				if res.Value(w.Metric()) <= 0 || res.Elapsed <= 0 {
					t.Errorf("%s: value %v over %v, want more than nothing", w.Name, res.Value(w.Metric()), res.Elapsed)
				}
				if lat := res.Classes[0].Lat; lat == nil || int64(lat.Count()) != res.Classes[0].Ops+res.Classes[0].InFlight {
					t.Errorf("%s: the histogram doesn't hold every operation", w.Name)
				}
			}
		})
	}
}

// trial runs one workload in an agent.
func trial(t *testing.T, a *agent.Agent, id string, w workload.Spec) (_ *workload.Result, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	defer func() {
		// Nobody can look afterwards.
		if te := (*agent.TrialError)(nil); errors.As(err, &te) && len(te.Waits) > 0 {
			t.Logf("trial %s, in phase %s for %v:\n%s\n%s", id, te.Phase, te.Since, strings.Join(te.Waits, "\n"), te.Log)
		}
	}()
	if err := a.Prepare(ctx, id, w); err != nil {
		return nil, err
	}
	if err := a.Start(id); err != nil {
		return nil, err
	}
	return a.Wait(ctx, id, nil)
}

// testUnsupported: a place that the engine doesn't offer is a typed answer.
func testUnsupported(t *testing.T, s Suite) {
	e := s.New(t)
	for _, kind := range place.Kinds {
		if slices.Contains(s.Places, kind) {
			continue
		}
		_, err := tryOpen(t, e, spec(kind))
		var u *refusal.Error
		if !errors.As(err, &u) {
			t.Errorf("Open(%s) = %v, want Unsupported", kind, err)
		} else if u.Why == "" {
			t.Errorf("Open(%s): no reason", kind)
		}
	}
}

// testEndOfInput: the agent ends when plimsoll is gone.
func testEndOfInput(t *testing.T, s Suite) {
	a := open(t, s.New(t), spec(s.Places[0]))
	a.Session.Stdin().Close()
	_, err := trial(t, a, "x", workloads[0])
	if !errors.Is(err, agent.ErrLost) {
		t.Errorf("a trial after the end of input = %v, want ErrLost", err)
	}
	if err != nil && strings.Contains(err.Error(), "kill") {
		t.Errorf("error %q: the agent should have ended by itself", err)
	}
}

// testKilledAgent: a killed worker is an error that says so, and Close still
// cleans up.
func testKilledAgent(t *testing.T, s Suite) {
	a := open(t, s.New(t), spec(s.Places[0]))
	pid := a.Session.Info().PID
	if pid == 0 {
		t.Fatal("the engine doesn't know the agent's pid")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_, err := trial(t, a, "x", workloads[0])
	if !errors.Is(err, agent.ErrLost) {
		t.Fatalf("a trial in a killed agent = %v, want ErrLost", err)
	}
	if !strings.Contains(err.Error(), "kill") {
		t.Errorf("error %q doesn't say that it was killed", err)
	}
}

// long is a workload that doesn't end by itself.
var long = workload.Spec{Name: "long", Kind: workload.WAL, Runtime: time.Hour}

// begin starts a long trial and returns when it runs.
func begin(t *testing.T, a *agent.Agent) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := a.Prepare(ctx, "long", long); err != nil {
		t.Fatal(err)
	}
	if err := a.Start("long"); err != nil {
		t.Fatal(err)
	}
}

// testKilledTrial: a trial's process that is killed costs that trial only.
func testKilledTrial(t *testing.T, s Suite) {
	a := open(t, s.New(t), spec(s.Places[0]))
	begin(t, a)
	pid := childOf(t, a.Session.Info().PID)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := a.Wait(ctx, "long", nil)
	var te *agent.TrialError
	if !errors.As(err, &te) || te.Signal != "killed" || te.Phase != wire.PhaseRun {
		t.Fatalf("a killed trial = %#v, want a TrialError with its signal", err)
	}
	if _, err := trial(t, a, "next", workloads[0]); err != nil {
		t.Errorf("the next trial in the same container: %v", err)
	}
}

// testStop: a trial whose context ends is stopped, and the container lives.
func testStop(t *testing.T, s Suite) {
	a := open(t, s.New(t), spec(s.Places[0]))
	begin(t, a)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := a.Wait(ctx, "long", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Wait = %v, want the deadline", err)
	}
	if _, err := trial(t, a, "next", workloads[0]); err != nil {
		t.Errorf("the next trial in the same container: %v", err)
	}
}

// testHardClose: Close with a context that is over kills and still removes.
func testHardClose(t *testing.T, s Suite) {
	a := open(t, s.New(t), spec(s.Places[0]))
	begin(t, a)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	start := time.Now()
	if err := a.Session.Close(ctx); err != nil {
		t.Errorf("Close() = %v", err)
	}
	if d := time.Since(start); d > patience { // The trial lasts an hour.
		t.Errorf("Close took %v", d)
	}
}
