package trial

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/witness"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/paralleltest"
	"plimsoll/internal/testkit/workertest"
	"plimsoll/load"
)

// Most tests wait: for windows, time limits and slow clients.
func TestMain(m *testing.M) { paralleltest.Main(m, 4) }

// notebook is a Recorder and an Observer in memory.
type notebook struct {
	run    record.Run
	trials []record.Trial
	full   bool // no more trials can be kept
	told   int
	done   int    // how many trials an earlier part had measured
	stop   func() // called after each trial, if set
}

func (n *notebook) PutRun(r record.Run) error { n.run = r; return nil }
func (n *notebook) PutTrial(t record.Trial) error {
	if n.full {
		return errors.New("disk full")
	}
	n.trials = append(n.trials, t)
	return nil
}
func (n *notebook) Note(string)         {}
func (n *notebook) Plan(_, _, done int) { n.done = done }
func (n *notebook) Trial(int, *record.Trial) {
	n.told++
	if n.stop != nil {
		n.stop()
	}
}

// counted is an engine that remembers its sessions and can have bad workers.
type counted struct {
	engine.Engine
	mu    sync.Mutex
	specs []engine.Spec
	// bad opens every second session, if set.
	bad engine.Engine
}

func (c *counted) Open(ctx context.Context, s engine.Spec) (engine.Session, error) {
	c.mu.Lock()
	c.specs = append(c.specs, s)
	n := len(c.specs)
	c.mu.Unlock()
	if c.bad != nil && n%2 == 0 {
		return c.bad.Open(ctx, s)
	}
	return c.Engine.Open(ctx, s)
}

// newRunner makes a runner of a plan on the host.
func newRunner(t *testing.T, text string) (*Runner, *notebook, *counted) {
	t.Helper()
	p, err := plan.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	n := &notebook{}
	c := &counted{Engine: host.New(state, workertest.Source(t))}
	t.Cleanup(func() {
		for _, d := range []string{"/data", "/sessions"} {
			if left, _ := os.ReadDir(state + d); len(left) > 0 {
				t.Errorf("left in %s: %v", d, left)
			}
		}
	})
	return &Runner{Plan: p, Engines: map[string]engine.Engine{"host": c}, Recorder: n, Observer: n, Hard: context.Background()}, n, c
}

// begin makes a runner ready for trials of a run, without what it measures first.
func begin(t *testing.T, r *Runner) {
	t.Helper()
	r.run = &record.Run{ID: "r1"}
	r.pool = newPool(r.Engines, r.run.ID, r.Machine, r.Hard)
	t.Cleanup(func() {
		if err := r.pool.closeAll(); err != nil {
			t.Error(err)
		}
	})
}

const twoClients = `
name: two
workloads:
  append: {kind: append, count: 200}
  randread: {rw: randread, bs: 4KiB, size: 1MiB, number_ios: 200}
engines: [host]
places: {dir: {}}
clients: [1, 2]
blocks: 2
io_engine: psync
`

func TestRunner(t *testing.T) {
	r, n, c := newRunner(t, twoClients)
	r.Witness = witness.New(device.Host())
	run := &record.Run{ID: "r1", Seed: 3}
	if err := r.Run(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if n.run.Status != record.Done || len(n.run.Skipped) > 0 {
		t.Errorf("the run is %s and skipped %+v, want all of it done", n.run.Status, n.run.Skipped)
	}
	if n.run.Ceiling.IOPS <= 0 {
		t.Errorf("the generator's ceiling is %+v, want one", n.run.Ceiling)
	}
	if n.run.IOEngine["randread"].Engine == "" {
		t.Errorf("I/O engines %+v, want that of randread", n.run.IOEngine)
	}
	if len(n.trials) != 12 || n.told != 12 {
		t.Fatalf("%d trials kept, %d told, want 12: 2 workloads x (2 cells and a control) x 2 blocks", len(n.trials), n.told)
	}
	orders := map[int]bool{}
	for _, tr := range n.trials {
		orders[tr.Order] = true
		if tr.Status != record.Done || len(tr.Results) != tr.Cell.Clients {
			t.Errorf("%s: %s %q, %d results", tr.Key, tr.Status, tr.Error, len(tr.Results))
			continue
		}
		for _, res := range tr.Results {
			if c := res.Classes[0]; c.Lat == nil || int64(c.Lat.Count()) != c.Ops+c.InFlight || c.Ops == 0 {
				t.Errorf("%s: a client's histogram doesn't hold its %d operations", tr.Key, c.Ops)
			}
		}
		if len(tr.Where) != tr.Cell.Clients || len(tr.Truth) != tr.Cell.Clients {
			t.Errorf("%s: %d places and %d truths of %d clients", tr.Key, len(tr.Where), len(tr.Truth), tr.Cell.Clients)
			continue
		}
		for i, truth := range tr.Truth {
			read, written := tr.Results[i].Bytes()
			if truth.AppRead != read || truth.AppWritten != written || read+written <= 0 {
				t.Errorf("%s: client %d: %+v, want its own bytes, %d and %d", tr.Key, i+1, truth, read, written)
			}
			if tr.Where[i].FSType == "" {
				t.Errorf("%s: client %d: no file system in %+v", tr.Key, i+1, tr.Where[i])
			}
		}
		if len(tr.DeviceUses()) != 1 {
			t.Errorf("%s: clients in one folder stand on %+v", tr.Key, tr.DeviceUses())
		}
		if want := workload.Together(tr.Results, tr.Metric); tr.Value != want || want <= 0 {
			t.Errorf("%s: value %v, want the clients' together, %v", tr.Key, tr.Value, want)
		}
		if (tr.StartSkew > 0) != (tr.Cell.Clients > 1) {
			t.Errorf("%s: start skew %v", tr.Key, tr.StartSkew)
		}
		if tr.Overhead < 0 || tr.Overhead > tr.Wall {
			t.Errorf("%s: overhead %v of %v", tr.Key, tr.Overhead, tr.Wall)
		}
	}
	if len(orders) != 12 || !orders[0] || !orders[11] {
		t.Errorf("positions %v, want 0 to 11", orders)
	}
	// Client 1, client 2 and the control, in each of the blocks.
	if len(c.specs) != 6 {
		t.Errorf("%d sessions were opened, want 6", len(c.specs))
	}
	ids := map[string]bool{}
	for _, s := range c.specs {
		ids[s.ID] = true
	}
	if len(ids) != len(c.specs) {
		t.Errorf("%d names for %d sessions", len(ids), len(c.specs))
	}
}

// TestSessions: the control has a session of its own, and each client too.
func TestSessions(t *testing.T) {
	r, _, _ := newRunner(t, twoClients)
	keys := map[string]bool{}
	for _, c := range []record.Cell{
		{Workload: "append", Engine: "host", Place: "dir", Limits: "none", Clients: 2},
		{Workload: "randread", Engine: "host", Place: "dir", Limits: "none", Clients: 1}, // Shares the first session.
		{Workload: "append", Engine: "host", Place: "dir", Limits: "none", Clients: 1, Control: true},
	} {
		for _, s := range r.sessions(c) {
			keys[s.key()] = true
		}
	}
	if len(keys) != 3 {
		t.Errorf("sessions %v, want 3", keys)
	}
}

// TestNotKept: a run whose records can't be kept is not done.
func TestNotKept(t *testing.T) {
	r, n, _ := newRunner(t, twoClients)
	n.full = true
	if err := r.Run(t.Context(), &record.Run{ID: "r1"}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("Run = %v, want disk full", err)
	}
	if n.run.Status != record.Interrupted {
		t.Errorf("status %s, want interrupted", n.run.Status)
	}
}

// TestInterruptedProbe: engines that were asked in vain are not missing, and a run
// without a trial is not recorded.
func TestInterruptedProbe(t *testing.T) {
	r, n, _ := newRunner(t, twoClients)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	run := &record.Run{ID: "r1"}
	if err := r.Run(ctx, run); !errors.Is(err, ErrInterrupted) || !errors.Is(err, ErrNothingYet) {
		t.Errorf("Run = %v, want ErrInterrupted and ErrNothingYet", err)
	}
	if run.Status != record.Interrupted || len(run.Skipped) > 0 {
		t.Errorf("run %+v", run)
	}
	if n.run.ID != "" {
		t.Errorf("recorded %+v, want nothing", n.run)
	}
}

// hello is what a broken worker of these tests begins with.
const hello = "#!/bin/sh\n" + `echo '{"hello":{"version":6}}'` + "\n"

// answer makes a shell script say something of the trial that it is asked for.
const answer = `while read line; do id=${line#*\"id\":\"}; id=${id%%\"*}; case $line in *run*) %s;; *start*) %s;; esac; done` + "\n"

// TestPartner: when one client fails, the other is stopped, and its session is
// fit for the next trial.
func TestPartner(t *testing.T) {
	ready := `echo "{\"ready\":{\"id\":\"$id\"}}"`
	fault := `echo "{\"error\":{\"id\":\"$id\",\"phase\":\"PHASE\",\"text\":\"broken\"}}"`
	for name, row := range map[string]struct{ run, start, phase string }{
		"prepare": {strings.Replace(fault, "PHASE", "prepare", 1), ":", "prepare"},
		"run":     {ready, strings.Replace(fault, "PHASE", "run", 1), "run"},
		"dies":    {ready, "exit 1", "worker"},
	} {
		t.Run(name, func(t *testing.T) {
			r, _, c := newRunner(t, strings.Replace(twoClients, "count: 200", "runtime: 20s", 1))
			lines := hello + strings.Replace(strings.Replace(answer, "%s", row.run, 1), "%s", row.start, 1)
			c.bad = host.New(t.TempDir(), func(string, string) ([]byte, error) { return []byte(lines), nil })
			begin(t, r)
			r.choose(nil)
			cell := record.Cell{Workload: "append", Engine: "host", Place: "dir", Limits: r.Plan.Limits[0].Name, Clients: 2}
			tr, _ := r.trial(t.Context(), cell, 0, 0)
			if tr.Status != record.Failed || tr.Phase != row.phase || !strings.HasPrefix(tr.Error, "client 2: ") {
				t.Fatalf("trial %s in phase %q: %q, want client 2 to fail in %s", tr.Status, tr.Phase, tr.Error, row.phase)
			}
			sessions := r.sessions(cell)
			first := r.pool.agents[sessions[0].key()]
			if first == nil || !first.Fit() {
				t.Fatal("the partner's session was given up")
			}
			if kept := r.pool.agents[sessions[1].key()] != nil; kept != (row.phase != "worker") {
				t.Errorf("the failed client's session kept: %v", kept)
			}
			r.engine["append"] = workload.Spec{Name: "append", Kind: workload.Append, Count: 5, BS: 64}
			cell.Clients = 1
			if tr, _ := r.trial(t.Context(), cell, 0, 1); tr.Status != record.Done {
				t.Errorf("the next trial: %s", tr.Error)
			}
		})
	}
}

// TestShorterThanAnIO: a window that ends before its first I/O does is no failure, but lasts until then.
func TestShorterThanAnIO(t *testing.T) {
	r, _, _ := newRunner(t, strings.Replace(twoClients, "{kind: append, count: 200}", "{rw: write, bs: 64MiB, size: 64MiB, runtime: 1ms}", 1))
	begin(t, r)
	r.choose(nil)
	tr, _ := r.trial(t.Context(), record.Cell{Workload: "append", Engine: "host", Place: "dir", Limits: r.Plan.Limits[0].Name, Clients: 1}, 0, 0)
	if tr.Status != record.Done || tr.Value <= 0 {
		t.Fatalf("trial %s in phase %q: %q, %v a second, %+v", tr.Status, tr.Phase, tr.Error, tr.Value, tr.Results)
	}
	if n := tr.Results[0].Ops(); n != 1 {
		t.Errorf("%d I/Os, want 1", n)
	}
	if got := tr.Results[0].Elapsed; got <= time.Millisecond {
		t.Errorf("the window lasted %v, want more than the runtime of 1 ms", got)
	}
}

// TestIdle: a trial in which nothing was complete is a failure that says so, and no figure of 0.
func TestIdle(t *testing.T) {
	hangs := load.Class{Name: "read", InFlight: 2, AtLeast: 2}
	for want, classes := range map[string][]load.Class{"no I/O ended in the window": {{Name: "read"}}, "the storage hangs": {hangs}} {
		tr := &record.Trial{Results: []workload.Result{{Classes: classes}}}
		if err := idle(tr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("idle() = %v, want %q", err, want)
		}
	}
}

// TestRunnerAlone: a run needs no Observer, no Judge and no context with an end.
func TestRunnerAlone(t *testing.T) {
	r, n, _ := newRunner(t, twoClients)
	r.Observer, r.Hard = nil, nil
	if err := r.Run(t.Context(), &record.Run{ID: "r1"}); err != nil || len(n.trials) != 12 {
		t.Errorf("Run() = %v, %d trials", err, len(n.trials))
	}
}
