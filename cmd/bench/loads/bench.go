package loads

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"plimsoll/cmd/bench/figure"
	"plimsoll/load"
)

// A contest is a job that package load and a peer do in every round.
type contest struct {
	name string
	ours run
	// peer is nil if there is none.
	peer run
	// iops and cpu are the goals: I/Os per second, and CPU time per I/O. Zero: none.
	iops, cpu figure.Goal
	// iopsOnly says that the CPU time is not compared.
	iopsOnly bool

	oursGot, peerGot []reading
}

// A run does the job once.
type run func(context.Context) (reading, error)

// asLoad returns a run of package load.
func asLoad(job load.Job) run {
	return func(ctx context.Context) (reading, error) { return measureOurs(ctx, job) }
}

// asBare returns a run on a ring without accounting.
func asBare(job load.Job) run {
	return func(ctx context.Context) (reading, error) { return measureBare(ctx, job) }
}

// asFio returns a run of fio, or nil without fio.
func asFio(o options, job load.Job, extra ...string) run {
	if o.fio == "" {
		return nil
	}
	return func(ctx context.Context) (reading, error) { return measureFio(ctx, o.fio, job, extra...) }
}

// times returns a goal for the ratio to the peer.
func times(op string, ratio float64) figure.Goal {
	return figure.Goal{Op: op, Value: ratio, Ratio: true}
}

// contests returns the contests on the file in the page cache and on the null engine.
func contests(file string, o options) []*contest {
	job := func(engine string, depth int) load.Job {
		return load.Job{RW: load.RandRead, BS: 4096, IODepth: depth, Filename: file, Size: o.size, Runtime: o.runtime, IOEngine: engine}
	}
	ring, sync, null := job(load.IOUring, 32), job(load.PSync, 1), job(load.Null, 1)
	null.Filename = ""
	two := null
	two.NumJobs = 2
	more, fewer := times(figure.AtLeast, 1.3), times(figure.AtMost, 0.75)
	return []*contest{
		{name: "io_uring depth 32", ours: asLoad(ring), peer: asFio(o, ring, "--norandommap"), iops: more, cpu: fewer},
		{name: "io_uring depth 32, fio's default map", ours: asLoad(ring), peer: asFio(o, ring), iops: more, cpu: fewer},
		{name: "io_uring depth 32, a bare ring", ours: asLoad(ring), peer: asBare(ring), iops: times(figure.AtLeast, 0.97), iopsOnly: true},
		{name: "psync depth 1", ours: asLoad(sync), peer: asFio(o, sync, "--norandommap"), iops: times(figure.AtLeast, 1)},
		{name: "psync depth 1, fio's default map", ours: asLoad(sync), peer: asFio(o, sync), iops: times(figure.AtLeast, 1)},
		{name: "null engine, 2 threads to 1", ours: asLoad(two), peer: asLoad(null), iops: times(figure.AtLeast, 1.9), iopsOnly: true},
	}
}

// directContests returns the contests on a block device with direct I/O.
func directContests(device string, o options) []*contest {
	job := func(depth int) load.Job {
		return load.Job{RW: load.RandRead, BS: 4096, IODepth: depth, Filename: device, Size: o.size, Runtime: o.runtime, IOEngine: load.IOUring, Direct: true}
	}
	var all []*contest
	for _, depth := range []int{1, 32, 128} {
		all = append(all, &contest{name: fmt.Sprintf("direct on a loop device, depth %d", depth), ours: asLoad(job(depth)), peer: asFio(o, job(depth), "--norandommap"),
			iops: times(figure.AtLeast, 1), cpu: times(figure.AtMost, 0.6)})
	}
	// One I/O at a time costs the kernel a switch to the device's thread and back. The difference to a ring without
	// accounting is what remains to be gained.
	return append(all, &contest{name: "direct on a loop device, depth 1, a bare ring", ours: asLoad(job(1)), peer: asBare(job(1)),
		iops: times(figure.AtLeast, 0.97), cpu: times(figure.AtMost, 1.1)})
}

// poissonRate is the requested rate of Poisson arrivals, per second.
const poissonRate = 600_000

func bench(ctx context.Context, o options, stdout, stderr io.Writer) error {
	dir, err := os.MkdirTemp(o.dir, "plimsoll-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "file")
	if _, err := load.Layout(ctx, file, o.size, load.LayoutOptions{}); err != nil {
		return err
	}
	if err := cache(file); err != nil {
		return err
	}
	if _, err := exec.LookPath(o.fio); err != nil {
		fmt.Fprintf(stderr, "bench load: no fio to compare with (%v); install fio\n", err)
		o.fio = ""
	}
	cs := contests(file, o)
	if device, detach, err := loop(ctx, file); err != nil {
		fmt.Fprintf(stderr, "bench load: no direct I/O on a loop device: %v\n", err)
	} else {
		defer detach()
		cs = append(cs, directContests(device, o)...)
	}
	job := load.Job{RW: load.RandRead, BS: 4096, IODepth: 1, Size: o.size, Runtime: o.runtime, IOEngine: load.Null}
	null := &contest{name: "null", ours: asLoad(job)}
	job.IODepth, job.RateIOPS, job.RateProcess = 32, poissonRate, load.Poisson
	poisson := &contest{name: "poisson", ours: asLoad(job), peer: asFio(o, job)}
	address, closeWeb, err := serveWeb()
	if err != nil {
		return err
	}
	defer closeWeb()
	web, err := webContest("http://" + address + "/")
	if err != nil {
		return err
	}
	if err := interleave(ctx, append(cs[:len(cs):len(cs)], null, poisson, web), o.rounds, stderr); err != nil {
		return err
	}
	rss, err := measureWorker(ctx, dir, o)
	if err != nil {
		return fmt.Errorf("the worker's memory: %w", err)
	}
	if err := table(stdout, cs, null, poisson, rss, o); err != nil {
		return err
	}
	if err := webTable(stdout, web); err != nil {
		return err
	}
	after, err := duties(ctx, o.rounds, stderr)
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	fmt.Fprint(stdout, "\nAfter the I/O, with a value in every bucket of the histograms:\n\n")
	_, err = figure.Table(stdout, "figure", "", after)
	return err
}

// loop creates a loop device over the file, with direct I/O to the file too.
func loop(ctx context.Context, file string) (device string, detach func(), err error) {
	out, err := exec.CommandContext(ctx, "losetup", "--direct-io=on", "--find", "--show", file).Output()
	if err != nil {
		return "", nil, fmt.Errorf("losetup: %w (it needs root)", err)
	}
	device = strings.TrimSpace(string(out))
	return device, func() { exec.Command("losetup", "--detach", device).Run() }, nil
}

// cache reads the file into the page cache.
func cache(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, f)
	return err
}

// interleave does all contests in every round. The program of a contest that goes first in one round goes last in the
// next, so that neither has the warmer machine.
func interleave(ctx context.Context, all []*contest, rounds int, talk io.Writer) error {
	for round := range rounds {
		fmt.Fprintf(talk, "round %d of %d\n", round+1, rounds)
		for _, c := range all {
			if err := c.round(ctx, round%2 == 0); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return nil
}

// round runs both programs once, ours first or last.
func (c *contest) round(ctx context.Context, oursFirst bool) error {
	one := func(do run, got *[]reading) error {
		if do == nil {
			return nil
		}
		r, err := do(ctx)
		*got = append(*got, r)
		return err
	}
	if oursFirst {
		if err := one(c.ours, &c.oursGot); err != nil {
			return err
		}
		return one(c.peer, &c.peerGot)
	}
	if err := one(c.peer, &c.peerGot); err != nil {
		return err
	}
	return one(c.ours, &c.oursGot)
}

// figure is a row of the table: one value of all readings of a contest, ours beside the peer's.
func (c *contest) figure(name string, get func(reading) float64, goal figure.Goal) figure.Figure {
	return figure.Figure{Name: name, Ours: each(c.oursGot, get), Peer: each(c.peerGot, get), Goal: goal}
}

func each(rs []reading, get func(reading) float64) []float64 {
	out := make([]float64, len(rs))
	for i, r := range rs {
		out[i] = get(r)
	}
	return out
}

func (r reading) perSecond() float64 { return r.iops }
func (r reading) perIO() float64     { return r.cpu }

// share is the part of the requested Poisson arrivals that took place.
func (r reading) share() float64 { return r.iops / poissonRate }

// table prints the figures of all contests, and the worker's memory in bytes.
func table(stdout io.Writer, cs []*contest, null, poisson *contest, rss float64, o options) error {
	fmt.Fprintf(stdout, "4 KiB random reads of %d MiB, in the page cache but where direct, one thread, %d rounds of %v:\n\n", o.size>>20, o.rounds, o.runtime)
	var all []figure.Figure
	for _, c := range cs {
		all = append(all, c.figure(c.name+", IOPS", reading.perSecond, c.iops))
		if !c.iopsOnly {
			all = append(all, c.figure(c.name+", CPU ns per I/O", reading.perIO, c.cpu))
		}
	}
	// For Poisson arrivals the schedules are compared, because the rate is requested.
	shares := poisson.figure("null engine, Poisson arrivals, share of the 600,000/s asked for", reading.share, figure.Goal{Op: figure.Near, Value: 1, Off: 0.01})
	shares.Unit = figure.Share
	all = append(all,
		figure.Figure{Name: "worker's peak RSS at depth 32", Ours: []float64{rss}, Unit: figure.MiB, Goal: figure.Goal{Op: figure.AtMost, Value: maxRSS}},
		null.figure("null engine depth 1, IOPS per core", reading.perSecond, figure.Goal{Op: figure.AtLeast, Value: 5e6}),
		shares)
	if _, err := figure.Table(stdout, "figure", "fio or other", all); err != nil {
		return err
	}
	_, err := io.WriteString(stdout, clockNote)
	return err
}

// clockNote names the clock behind the figures of package load.
const clockNote = `
With io_uring and linux-aio load reads the clock twice a batch, not twice an I/O as fio does: I/Os that are
submitted together start with one reading, and those that complete together end with one. Up to 32 of them, at a depth
of 32, then share one latency. It includes the time the batch takes, and is never less than the truth.
`
