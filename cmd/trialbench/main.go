// Command trialbench measures what a trial costs beside its measured window, on
// every engine that works here: cold, with a container started and removed for
// it, and warm, in one that runs. make bench calls it.
//
//	trialbench [-rounds N] [-docker HOST]
//
// An engine that does not work here is skipped with the reason.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"plimsoll/internal/agent"
	"plimsoll/internal/engine"
	"plimsoll/internal/place"
	"plimsoll/internal/workerbin"
	"plimsoll/internal/workload"
	"plimsoll/load"
)

// window is the measured window of each trial; it is subtracted.
const window = 50 * time.Millisecond

// job is a small job that says which I/O engine it wants, as a plan's cells do.
var job = workload.Spec{Name: "bench", Kind: workload.Block, Job: load.Job{
	RW: load.RandRead, BS: 4096, Size: 1 << 20, Runtime: window, IOEngine: load.PSync,
}}

// targets are the most that a trial may cost.
var targets = map[string]time.Duration{"host": 20 * time.Millisecond, "oci": 150 * time.Millisecond, "docker": time.Second}

func main() {
	rounds := flag.Int("rounds", 15, "trials of each kind")
	docker := flag.String("docker", "", "address of the Docker daemon (default: DOCKER_HOST or the system's)")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, options{rounds: *rounds, docker: *docker, worker: workerbin.Bytes}); err != nil {
		fmt.Fprintln(os.Stderr, "trialbench:", err)
		os.Exit(1)
	}
}

// options are the flags, and what a test replaces.
type options struct {
	rounds int
	docker string // the daemon's address
	worker engine.WorkerSource
}

func run(ctx context.Context, stdout io.Writer, o options) error {
	if o.rounds < 1 {
		return fmt.Errorf("-rounds %d: there has to be 1 at least", o.rounds)
	}
	state, err := os.MkdirTemp("", "plimsoll-trialbench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	out := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "overhead of a trial\tmedian\tmin - max\ttarget\tresult")
	for _, e := range []struct {
		engine.Engine
		place place.Kind
	}{
		{engine.NewHost(state, o.worker), place.Dir},
		{engine.NewOCI(state, o.worker, exec.LookPath), place.Layer},
		{engine.NewDocker(engine.DockerOptions{Host: o.docker, StateDir: state, Worker: o.worker}), place.Layer},
	} {
		if p := e.Probe(ctx); !p.OK {
			fmt.Fprintf(out, "%s\tskipped: %s\n", e.Name(), p.Missing)
			continue
		}
		cold, warm, err := measure(ctx, e, e.place, o.rounds)
		if err != nil {
			return fmt.Errorf("engine %s: %w", e.Name(), err)
		}
		row(out, e.Name()+", its container included", cold, targets[e.Name()])
		row(out, e.Name()+", in a running container", warm, targets[e.Name()])
	}
	return out.Flush()
}

// row prints the median and range of times beside a target.
func row(out *tabwriter.Writer, what string, times []time.Duration, target time.Duration) {
	slices.Sort(times)
	mid := median(times)
	result := "met"
	if mid > target {
		result = "MISSED"
	}
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/1e6) }
	fmt.Fprintf(out, "%s\t%s\t%s - %s\t<= %s\t%s\n", what, ms(mid), ms(times[0]), ms(times[len(times)-1]), ms(target), result)
}

// median of times that are sorted and not empty.
func median(sorted []time.Duration) time.Duration {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// measure does rounds trials with a container each, and as many in one.
func measure(ctx context.Context, e engine.Engine, kind place.Kind, rounds int) (cold, warm []time.Duration, err error) {
	for i := range rounds {
		start := time.Now()
		s, err := e.Open(ctx, engine.Spec{ID: "bench-" + strconv.Itoa(os.Getpid()) + "-" + strconv.Itoa(i), Place: place.Spec{Name: string(kind), Kind: kind}})
		if err != nil {
			return nil, nil, err
		}
		spent, err := trials(ctx, s, 1)
		if cerr := s.Close(ctx); err == nil {
			err = cerr
		}
		if err != nil {
			return nil, nil, err
		}
		cold = append(cold, time.Since(start)-spent[0].inside)
	}
	s, err := e.Open(ctx, engine.Spec{ID: "bench-" + strconv.Itoa(os.Getpid()) + "-warm", Place: place.Spec{Name: string(kind), Kind: kind}})
	if err != nil {
		return nil, nil, err
	}
	spent, err := trials(ctx, s, rounds)
	err = errors.Join(err, s.Close(ctx))
	for _, t := range spent {
		warm = append(warm, t.wall-t.inside)
	}
	return cold, warm, err
}

// spent is what one trial took, and how much of that was its window and layout.
type spent struct{ wall, inside time.Duration }

// trials runs n trials in a session.
func trials(ctx context.Context, s engine.Session, n int) ([]spent, error) {
	a, err := agent.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	var all []spent
	for i := range n {
		id := strconv.Itoa(i)
		start := time.Now()
		if err := a.Prepare(ctx, id, job); err != nil {
			return all, err
		}
		if err := a.Start(id); err != nil {
			return all, err
		}
		res, err := a.Wait(ctx, id, nil)
		if err != nil {
			return all, err
		}
		all = append(all, spent{time.Since(start), res.Elapsed + res.Prepared})
	}
	return all, nil
}
