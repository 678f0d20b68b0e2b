// Package limits measures the cost of limits for many containers: to set four rates in each of 1,000 groups, to check
// them, to change and to remove them; to watch what the groups do; and the processor time of a keeper that maintains
// them. It also measures how close direct I/O comes to a limit, from 1 MB/s to 500 MB/s and from 50 to 20,000 IOPS.
//
//	bench limit [-groups N] [-rounds N] [-idle TIME] [-quick] [-strict]
//
// It measures on plain files, which shows Plimsoll's own part, and on this machine's control groups, in groups and with
// a loop device of its own. The latter needs root, and is skipped with the reason if it is impossible. A reconcile that
// writes anything is an error. With -strict, a missed goal is an error too, after everything was measured.
package limits

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"time"

	"plimsoll/cmd/bench/figure"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/watch"
)

// The maximum times for 1,000 groups.
const (
	applyTarget     = time.Second
	reconcileTarget = 50 * time.Millisecond
	// A sample per second then takes a tenth of one CPU.
	watchTarget  = 100 * time.Millisecond
	targetGroups = 1000
)

// rates are the four limits; otherRates are the limits that they are changed to.
var (
	rates      = limit.Limits{ReadBPS: 100 << 20, WriteBPS: 50 << 20, ReadIOPS: 5000, WriteIOPS: 2000}
	otherRates = limit.Limits{ReadBPS: 200 << 20, WriteBPS: 20 << 20, ReadIOPS: 3000, WriteIOPS: 1000}
)

// Run runs 'bench limit' with these flags.
func Run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	fs := flag.NewFlagSet("bench limit", flag.ContinueOnError)
	fs.SetOutput(stderr)
	groups := fs.Int("groups", targetGroups, "control groups to limit")
	rounds := fs.Int("rounds", 5, "how often each is measured")
	idle := fs.Duration("idle", time.Minute, "how long a keeper with nothing to do is measured")
	quick := fs.Bool("quick", false, "try the ends of the scales only, for 3 seconds each, not 10")
	strict := fs.Bool("strict", false, "exit with status 1 if a goal was missed")
	if err := fs.Parse(args); err != nil {
		return err
	}
	missed, err := run(ctx, stdout, *groups, *rounds, *idle)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout)
	more, err := accuracy(ctx, stdout, *quick, newMemoryBed)
	if missed += more; err == nil && *strict && missed > 0 {
		return fmt.Errorf("%d of the goals above were missed", missed)
	}
	return err
}

// A place holds groups to measure with.
type place struct {
	name    string
	host    *cgroup.Host
	device  device.Number
	targets []*cgroup.Target
	// paths are the groups' names; node is the device's.
	paths []string
	node  string
	// kernel says that these are control groups, not plain files.
	kernel bool
}

// errSkip is the error for a place that is impossible on this machine; its text says why.
type errSkip string

func (e errSkip) Error() string { return string(e) }

// run prints the cost of that many groups, and returns the number of missed goals.
func run(ctx context.Context, stdout io.Writer, groups, rounds int, idle time.Duration) (missed int, err error) {
	if groups < 1 || rounds < 1 {
		return 0, errors.New("-groups and -rounds: must be at least 1")
	}
	var all []figure.Figure
	for _, p := range []struct {
		name string
		make func(int) (*place, func() error, error)
	}{
		{"plain files, version 1", func(n int) (*place, func() error, error) { return fixture(1, n) }},
		{"plain files, version 2", func(n int) (*place, func() error, error) { return fixture(2, n) }},
		{"this machine", machine},
	} {
		figures, err := measure(ctx, p.name, groups, rounds, idle, p.make)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", p.name, err)
		}
		all = append(all, figures...)
	}
	return figure.Table(stdout, fmt.Sprintf("%d groups, 4 limits each", groups), "", all)
}

// measure returns the figures of one place.
func measure(ctx context.Context, name string, groups, rounds int, idle time.Duration, makePlace func(int) (*place, func() error, error)) (all []figure.Figure, err error) {
	p, remove, err := makePlace(groups)
	var skip errSkip
	if errors.As(err, &skip) {
		return []figure.Figure{{Name: name, Skipped: string(skip)}}, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	set := cgroup.Want{Change: limit.Change{Set: rates}, Devices: []device.Number{p.device}}
	other := cgroup.Want{Change: limit.Change{Set: otherRates}, Devices: []device.Number{p.device}}
	clear := cgroup.Want{Change: limit.Clear(limit.ReadBPS, limit.WriteBPS, limit.ReadIOPS, limit.WriteIOPS)}
	var apply, same, change, gone, watched sample
	sampler, subjects, err := p.watch()
	if err != nil {
		return nil, err
	}
	for range rounds {
		if err := apply.hold(ctx, p, set); err != nil {
			return nil, err
		}
		if err := same.hold(ctx, p, set); err != nil {
			return nil, err
		}
		if err := change.hold(ctx, p, other); err != nil {
			return nil, err
		}
		if !p.kernel {
			continue // A plain file doesn't know how to remove a line.
		}
		// The groups do nothing, as most groups do: one in ten samples reads their limits.
		for range 2 {
			if err := watched.sample(ctx, sampler, subjects); err != nil {
				return nil, err
			}
		}
		if err := gone.hold(ctx, p, clear); err != nil {
			return nil, err
		}
	}
	if same.writes != 0 || apply.writes == 0 || change.writes == 0 || (p.kernel && gone.writes == 0) {
		return nil, fmt.Errorf("%d writes to set, %d to set again, %d to change, %d to remove", apply.writes, same.writes, change.writes, gone.writes)
	}
	small := groups < targetGroups
	all = []figure.Figure{
		apply.figure(p.name+", set", rounds, applyTarget, small),
		same.figure(p.name+", nothing to do", rounds, reconcileTarget, small),
		change.figure(p.name+", changed", rounds, applyTarget, small),
	}
	if !p.kernel {
		return all, nil
	}
	kept, err := keep(ctx, p, rounds, idle, small)
	return append(append(all,
		gone.figure(p.name+", removed", rounds, applyTarget, small),
		watched.figure(p.name+", watched", rounds, watchTarget, small),
	), kept...), err
}

// A sample holds the times for all groups, and the writes.
type sample struct {
	times  []time.Duration
	writes int
}

// hold reconciles every target, one after another.
func (s *sample) hold(ctx context.Context, p *place, w cgroup.Want) error {
	began := time.Now()
	for _, t := range p.targets {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := p.host.Hold(t, w)
		if err != nil {
			return err
		}
		s.writes += n
	}
	s.times = append(s.times, time.Since(began))
	return nil
}

// watch creates the sampler of control groups.
func (p *place) watch() (*watch.Sampler, []*watch.Subject, error) {
	if !p.kernel {
		return nil, nil, nil
	}
	s, err := watch.NewSampler(device.Host(), p.host)
	if err != nil {
		return nil, nil, err
	}
	var subjects []*watch.Subject
	for i, t := range p.targets {
		subjects = append(subjects, &watch.Subject{Ref: strconv.Itoa(i), Groups: t})
	}
	return s, subjects, nil
}

// sample reads the counters of all groups.
func (s *sample) sample(ctx context.Context, sampler *watch.Sampler, subjects []*watch.Subject) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	began := time.Now()
	out, err := sampler.Sample(subjects, nil)
	s.times = append(s.times, time.Since(began))
	if err != nil {
		return err
	}
	for _, r := range out.Subjects {
		if r.Err != nil {
			return r.Err
		}
	}
	return nil
}

// figure returns a sample beside its goal. It is not judged with fewer groups than the goal is for.
func (s *sample) figure(what string, rounds int, most time.Duration, small bool) figure.Figure {
	return figure.Figure{Name: what, Ours: figure.Times(s.times), Unit: figure.Milliseconds, Note: fmt.Sprintf("%d writes", s.writes/rounds),
		Goal: figure.Goal{Op: figure.AtMost, Value: float64(most)}, Unjudged: small}
}
