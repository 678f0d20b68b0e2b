// Package limits measures what it costs to hold many containers to limits: to set four rates in
// each of 1,000 groups, to look whether they are still so, to change and to remove them; to watch what the groups do; what a
// keeper that holds them takes of a processor; and how near direct I/O comes to a limit, from 1 MB/s to 500 MB/s and from 50 to
// 20,000 IOPS.
//
//	bench limit [-groups N] [-rounds N] [-idle TIME] [-quick] [-strict]
//
// It does so on plain files, which shows Plimsoll's own part, and on this machine's control groups, in groups of its own
// with a loop device of its own. The latter needs root, and is skipped with the reason where it can't be
// done. A reconcile that writes anything is an error; with -strict so is a goal that was missed, after all were tried.
package limits

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/text/goal"
	"plimsoll/internal/watch"
)

// What holding 1,000 groups may take.
const (
	applyTarget     = time.Second
	reconcileTarget = 50 * time.Millisecond
	// A sample a second then takes a tenth of one CPU.
	watchTarget  = 100 * time.Millisecond
	targetGroups = 1000
)

// rates are the four limits, and otherRates what they are changed to.
var (
	rates      = limit.Limits{ReadBPS: 100 << 20, WriteBPS: 50 << 20, ReadIOPS: 5000, WriteIOPS: 2000}
	otherRates = limit.Limits{ReadBPS: 200 << 20, WriteBPS: 20 << 20, ReadIOPS: 3000, WriteIOPS: 1000}
)

// Run does 'bench limit' with these flags.
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
	out := &goal.Count{Writer: stdout}
	if err := run(ctx, out, *groups, *rounds, *idle); err != nil {
		return err
	}
	fmt.Fprintln(stdout)
	if err := accuracy(ctx, out, *quick, newMemoryBed); err != nil {
		return err
	}
	if *strict {
		return missed(out)
	}
	return nil
}

// missed is the error of goals that were missed, nil if none was.
func missed(c *goal.Count) error {
	if c.Missed == 0 {
		return nil
	}
	return fmt.Errorf("%d of the goals above were missed", c.Missed)
}

// A place is groups to measure in.
type place struct {
	name    string
	host    *cgroup.Host
	device  cgroup.Device
	targets []*cgroup.Target
	// paths are the groups' names, and node is that of the device.
	paths []string
	node  string
	// kernel says that these are control groups and no plain files.
	kernel bool
}

// errSkip is the error of a place that can't be had here; its text says why.
type errSkip string

func (e errSkip) Error() string { return string(e) }

func run(ctx context.Context, stdout io.Writer, groups, rounds int, idle time.Duration) error {
	if groups < 1 || rounds < 1 {
		return errors.New("-groups and -rounds: there has to be 1 at least")
	}
	out := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "%d groups, 4 limits each\tmedian\tmin - max\twrites\ttarget\tresult\n", groups)
	for _, p := range []struct {
		name string
		make func(int) (*place, func() error, error)
	}{
		{"plain files, version 1", func(n int) (*place, func() error, error) { return fixture(1, n) }},
		{"plain files, version 2", func(n int) (*place, func() error, error) { return fixture(2, n) }},
		{"this machine", machine},
	} {
		if err := measure(ctx, out, p.name, groups, rounds, idle, p.make); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return out.Flush()
}

// measure prints the rows of one place.
func measure(ctx context.Context, out io.Writer, name string, groups, rounds int, idle time.Duration, makePlace func(int) (*place, func() error, error)) (err error) {
	p, remove, err := makePlace(groups)
	var skip errSkip
	if errors.As(err, &skip) {
		fmt.Fprintf(out, "%s\tskipped: %s\n", name, skip)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	set := cgroup.Want{Change: limit.Change{Set: rates}, Devices: []cgroup.Device{p.device}}
	other := cgroup.Want{Change: limit.Change{Set: otherRates}, Devices: []cgroup.Device{p.device}}
	clear := cgroup.Want{Change: limit.Clear(limit.ReadBPS, limit.WriteBPS, limit.ReadIOPS, limit.WriteIOPS)}
	var apply, same, change, gone, watched sample
	sampler, subjects, err := p.watch()
	if err != nil {
		return err
	}
	for range rounds {
		if err := apply.hold(ctx, p, set); err != nil {
			return err
		}
		if err := same.hold(ctx, p, set); err != nil {
			return err
		}
		if err := change.hold(ctx, p, other); err != nil {
			return err
		}
		if !p.kernel {
			continue // A plain file doesn't know what removes a line.
		}
		// The groups do nothing, as most do: their limits are read in one of ten samples.
		for range 2 {
			if err := watched.sample(ctx, sampler, subjects); err != nil {
				return err
			}
		}
		if err := gone.hold(ctx, p, clear); err != nil {
			return err
		}
	}
	if same.writes != 0 || apply.writes == 0 || change.writes == 0 || (p.kernel && gone.writes == 0) {
		return fmt.Errorf("%d writes to set, %d to set again, %d to change, %d to remove", apply.writes, same.writes, change.writes, gone.writes)
	}
	full := groups >= targetGroups
	apply.row(out, p.name+", set", rounds, applyTarget, full)
	same.row(out, p.name+", nothing to do", rounds, reconcileTarget, full)
	change.row(out, p.name+", changed", rounds, applyTarget, full)
	if p.kernel {
		gone.row(out, p.name+", removed", rounds, applyTarget, full)
		watched.row(out, p.name+", watched", rounds, watchTarget, full)
		return keep(ctx, out, p, rounds, idle, full)
	}
	return nil
}

// A sample is the times that all groups took, and the writes.
type sample struct {
	times  []time.Duration
	writes int
}

// hold holds every target, one after the other.
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

// watch makes what watches the groups of a kernel.
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

// sample reads what all groups have done.
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

// row prints a sample beside its target. Fewer groups than the target is for are not judged.
func (s *sample) row(out io.Writer, what string, rounds int, target time.Duration, judged bool) {
	slices.Sort(s.times)
	n := len(s.times)
	mid := (s.times[(n-1)/2] + s.times[n/2]) / 2
	result := "-"
	if judged {
		result = goal.Verdict(mid <= target)
	}
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/1e6) }
	fmt.Fprintf(out, "%s\t%s\t%s - %s\t%d\t<= %s\t%s\n", what, ms(mid), ms(s.times[0]), ms(s.times[n-1]), s.writes/rounds, ms(target), result)
}
