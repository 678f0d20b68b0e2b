// Package trials measures the cost of a trial beside its measured window, on every engine that works here: cold, with a
// container started and removed for it, and warm, in a running container. The trials are those of a run: with the
// witness below the application, the checks and the database.
//
//	bench trial [-rounds N] [-docker HOST] [-machines N] [-kernel FILE] [-quick PLIMSOLL] [-run PLIMSOLL]
//
// With -machines it starts that many virtual machines of each kind, with the kernel of -kernel, and measures the time
// to their first I/O. An engine that does not work here is skipped with the reason. With -quick, the path of a
// plimsoll, it also measures the time of one 'plimsoll run --quick' from start to end, and of the plans about the cost
// of isolation. With -run it measures that of the default plan with all its blocks, as make run does it, which takes
// minutes.
package trials

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"plimsoll/cmd/bench/figure"
	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/docker"
	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/engine/oci"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/measure/trial"
	"plimsoll/internal/measure/witness"
	"plimsoll/internal/measure/workerbin"
)

// window is the measured window of each trial, which is subtracted.
const window = 50 * time.Millisecond

// planText is a plan of one engine and place, and two workloads. They share a file, which the first workload in each
// container lays out. The first block, in which the runner checks its surroundings, is omitted.
const planText = `
name: bench
io_engine: psync
engines: [%s]
places: {%s: {}}
blocks: %d
workloads:
  one: {rw: randread, bs: 4KiB, size: 1MiB, runtime: %s}
  two: {rw: randread, bs: 4KiB, size: 1MiB, runtime: %[4]s, randseed: 2}
`

// targets are the maximum costs of a trial.
var targets = map[string]time.Duration{"host": 20 * time.Millisecond, "oci": 150 * time.Millisecond, "docker": time.Second}

// Run runs 'bench trial' with these flags.
func Run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	o := options{worker: workerbin.Bytes}
	fs := flag.NewFlagSet("bench trial", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.IntVar(&o.rounds, "rounds", 15, "trials of each kind")
	fs.StringVar(&o.docker, "docker", "", "address of the Docker daemon (default: DOCKER_HOST or the system's)")
	fs.StringVar(&o.quick, "quick", "", "the plimsoll of which 'run --quick' is timed (default: none)")
	fs.IntVar(&o.machines, "machines", 0, "virtual machines of each kind that are started (default: none)")
	fs.StringVar(&o.kernel, "kernel", "", "the kernel's file of virtual machines (default: that of this computer)")
	fs.StringVar(&o.full, "run", "", "the plimsoll of which the default plan's run is timed (default: none)")
	if err := fs.Parse(args); err != nil {
		return err
	}
	return run(ctx, stdout, o)
}

// options are the flags, and what a test replaces.
type options struct {
	rounds int
	docker string // the daemon's address
	// machines is the number of virtual machines of each kind to start, kernel their kernel's file; empty: that of this
	// computer.
	machines int
	kernel   string
	quick    string // the plimsoll whose quick runs are timed; empty: none
	full     string // the plimsoll whose whole run is timed; empty: none
	worker   engine.WorkerSource
}

func run(ctx context.Context, stdout io.Writer, o options) error {
	if o.rounds < 1 {
		return fmt.Errorf("-rounds %d: must be at least 1", o.rounds)
	}
	state, err := os.MkdirTemp("", "plimsoll-bench-trial-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	var all []figure.Figure
	for _, e := range []struct {
		engine.Engine
		place place.Kind
	}{
		{host.New(state, o.worker), place.Dir},
		{oci.New(state, o.worker, exec.LookPath), place.Layer},
		{docker.New(docker.Options{Host: o.docker, StateDir: state, Worker: o.worker}), place.Layer},
	} {
		if p := e.Probe(ctx); !p.OK {
			all = append(all, figure.Figure{Name: e.Name(), Skipped: p.Missing})
			continue
		}
		m, err := measure(ctx, e, e.place, o.rounds, filepath.Join(state, "bench-"+e.Name()+".db"))
		if err != nil {
			return fmt.Errorf("engine %s: %w", e.Name(), err)
		}
		all = append(all,
			duration(e.Name()+", its container included", m.cold, targets[e.Name()]),
			duration(e.Name()+", in a running container", m.warm, targets[e.Name()]),
			duration(e.Name()+", layout of 1 MiB, not in these", m.layout, 0))
	}
	if _, err := figure.Table(stdout, "overhead of a trial", "", all); err != nil {
		return err
	}
	if o.machines > 0 {
		if err := startMachines(ctx, stdout, o, state); err != nil {
			return err
		}
	}
	all, err = timeWholes(ctx, o, state)
	if len(all) > 0 {
		_, more := figure.Table(stdout, "whole runs", "", all)
		err = errors.Join(err, more)
	}
	return err
}

// duration returns the figure of some times, in milliseconds, with their maximum as the goal; 0: no goal.
func duration(what string, times []time.Duration, most time.Duration) figure.Figure {
	f := figure.Figure{Name: what, Ours: figure.Times(times), Unit: figure.Milliseconds}
	if most > 0 {
		f.Goal = figure.Goal{Op: figure.AtMost, Value: float64(most)}
	}
	return f
}

// times are the times of trials beside their windows and layouts, from the end of one trial until the record of the
// next is stored. Cold includes starting a container and removing the one before it; warm doesn't.
type times struct {
	cold, warm, layout []time.Duration
}

// measure runs the plan with everything that plimsoll uses: the witness below the application, the checks, and the
// database on disk.
func measure(ctx context.Context, e engine.Engine, kind place.Kind, rounds int, path string) (times, error) {
	p, err := plan.Parse("bench", fmt.Appendf(nil, planText, e.Name(), kind, rounds+1, window))
	if err != nil {
		return times{}, err
	}
	db, err := store.Open(path)
	if err != nil {
		return times{}, err
	}
	defer db.Close()
	run := &record.Run{ID: "bench-" + strconv.Itoa(os.Getpid()), Plan: p.Name, Seed: 1, Blocks: p.Blocks, Margin: p.Margin, Started: time.Now()}
	w := &watcher{}
	r := &trial.Runner{
		Plan: p, Engines: map[string]engine.Engine{e.Name(): e}, Recorder: db, Observer: w,
		Judge: judge{}, Witness: witness.New(device.Host()), Hard: context.WithoutCancel(ctx),
	}
	if err := r.Run(ctx, run); err != nil {
		return times{}, err
	}
	if w.failed != "" {
		return times{}, errors.New(w.failed)
	}
	if len(w.cold) == 0 || len(w.warm) == 0 {
		return times{}, errors.New("no trial was done")
	}
	return w.times, nil
}

// A judge raises the doubts that plimsoll raises.
type judge struct{}

func (judge) Trial(t *record.Trial, run *record.Run) []record.Warning { return check.Trial(t, run) }
func (judge) Run(run *record.Run, trials []record.Trial) []record.Warning {
	return check.Run(run, trials)
}

// A watcher measures the time from trial to trial.
type watcher struct {
	times
	last   time.Time
	failed string
}

func (w *watcher) Note(string)      {}
func (w *watcher) Plan(_, _, _ int) {}
func (w *watcher) Trial(_ int, t *record.Trial) {
	took := time.Since(w.last)
	defer func() { w.last = time.Now() }()
	if t.Status != record.Done || len(t.Results) == 0 {
		w.failed = t.Error
		return
	}
	if t.Block == 0 {
		return
	}
	r := t.Results[0]
	took -= r.Elapsed + r.Prepared
	if t.SessionOpen > 0 {
		// The second trial finds the file already laid out.
		w.cold, w.layout = append(w.cold, took), append(w.layout, r.Prepared)
	} else {
		w.warm = append(w.warm, took)
	}
}
