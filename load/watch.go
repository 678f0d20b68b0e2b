package load

import (
	"context"
	"errors"
	"time"
)

// A watch follows a run from Start's goroutine: the edges of the window, and the samples.
type watch struct {
	run      *Run
	res      *Result
	onSample func(Sample)
	done     <-chan struct{}

	wall      time.Time // at the beginning, without its monotonic reading
	usage     Usage     // at the beginning, then of the window
	ended     bool      // the end of the window was recorded
	seen      [2]count  // reads and writes in the samples so far
	lanes     []laneSamples
	rounds    *rounds       // nil: the job has none
	stretched time.Duration // by how much the window was extended because nothing completed in it
	cancelled bool
	began     int64 // the beginning of the window that the samples are of
}

// delay waits for the start of the job, which startdelay postpones.
func (w *watch) delay(ctx context.Context) {
	if d := w.run.job.StartDelay; d > 0 {
		w.until(ctx, w.run.clk.now()+int64(d))
	}
}

// slowReading is the share of the window that may pass while the counters are read, and readings the maximum number of
// attempts. I/O in between is in the counters but not in the result.
const (
	slowReading = 0.01
	readings    = 3
)

// open records the state at the beginning of the window.
func (w *watch) open() {
	r := w.run
	most := int64(slowReading * float64(r.job.Runtime))
	for range readings {
		from := r.clk.now()
		if r.OnWindow != nil {
			r.OnWindow(true)
		}
		w.usage = ProcessUsage()
		if r.job.RampTime == 0 || r.clk.now()-from <= most {
			return
		}
	}
}

// ramp waits for the beginning of the window, and begins it as soon as the counters have been read. A busy machine may
// wake this goroutine tens of milliseconds late. If the window began by the clock, it would hold I/O that counters read
// later lack.
func (w *watch) ramp(ctx context.Context) {
	r := w.run
	if r.job.RampTime > 0 {
		nominal := r.start + int64(r.job.RampTime)
		came := w.until(ctx, nominal)
		w.open()
		if came {
			r.openAt(r.clk.now())
		} else {
			// The ramp was interrupted: the window stays empty.
			r.openAt(max(nominal, r.clk.now()))
		}
	}
	// This is a little later than the beginning, or earlier if the ramp was interrupted.
	ago := time.Duration(r.clk.now() - r.begin.Load())
	w.wall = r.wall().Round(0).UTC().Add(-ago)
	w.res.Start = w.wall
}

// until waits until the run's clock reaches at, the threads are done, or ctx is done, which stops the threads. It
// reports whether the time came.
func (w *watch) until(ctx context.Context, at int64) bool {
	cancelled := ctx.Done()
	if w.cancelled {
		cancelled = nil
	}
	t := time.NewTimer(time.Duration(at - w.run.clk.now()))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-w.done:
	case <-cancelled:
		w.cancelled = true
		w.run.stop()
	}
	return false
}

// Bounds of SampleEvery.
const (
	leastSample = 10 * time.Millisecond
	samples     = 20
)

// SampleEvery returns the interval of the samples of a window that takes runtime: a second, or a twentieth of a window
// shorter than twenty seconds, so that even a short one shows its course. 0 stands for a window that ends by itself.
func SampleEvery(runtime time.Duration) time.Duration {
	if runtime == 0 {
		return time.Second
	}
	return min(max(runtime/samples, leastSample), time.Second)
}

// window follows the measured window: a sample per interval, then its end.
func (w *watch) window(ctx context.Context) {
	r := w.run
	w.began = r.begin.Load()
	if r.book != nil {
		w.watchRounds(ctx)
		return
	}
	at := r.begin.Load()
	every, slack := int64(SampleEvery(r.job.Runtime)), int64(10*time.Millisecond)
	if i := int64(r.job.SampleEvery); i > 0 {
		every, slack = i, i/2
		if r.job.PerJob {
			w.lanes = make([]laneSamples, len(r.lanes))
		}
	}
	for {
		at += every
		end := r.end.Load()
		if r.timed && at+slack > end {
			w.until(ctx, end)
			break
		}
		if !w.until(ctx, at) {
			break
		}
		all, now := w.counted(), r.clk.now()
		if r.timed && now >= end {
			break // this goroutine was late; the rest is the last sample
		}
		w.sample(now, all)
		w.sampleLanes(now)
	}
	if r.timed {
		w.edge(r.end.Load())
	}
	w.drain()
}

// edge records the state at the end of the window.
func (w *watch) edge(end int64) {
	if w.ended {
		return
	}
	w.ended = true
	r := w.run
	now := ProcessUsage()
	if r.OnWindow != nil {
		r.OnWindow(false)
	}
	end = min(end, r.clk.now())
	w.res.Usage = Usage{User: now.User - w.usage.User, System: now.System - w.usage.System, MaxRSS: now.MaxRSS}
	late := time.Duration(r.clk.now() - end)
	w.res.WallElapsed = r.wall().Round(0).Sub(w.wall) - late
	w.res.Elapsed = time.Duration(max(end-r.begin.Load(), 0))
}

// stretch extends a window in which nothing completed until something did (see Run.stretch).
func (w *watch) stretch(accounts []*account) {
	end := w.run.stretch(accounts)
	if end == 0 {
		return
	}
	w.stretched = time.Duration(end-w.run.begin.Load()) - w.res.Elapsed
	// Extend both clocks, or one of them would seem to have been set.
	w.res.Elapsed += w.stretched
	w.res.WallElapsed += w.stretched
	if w.run.OnWindow != nil && w.run.book == nil {
		w.run.OnWindow(false) // Otherwise the counters would end before what is counted.
		now := ProcessUsage()
		w.res.Usage = Usage{User: now.User - w.usage.User, System: now.System - w.usage.System, MaxRSS: now.MaxRSS}
	}
}

// finish completes the result from what the threads measured, after they are done.
func (w *watch) finish(accounts []*account) {
	r := w.run
	w.renew()
	sums := r.sum(w.res, accounts)
	for _, t := range r.threads {
		if t.seek != nil {
			w.res.Depth = t.seek.depth
		}
	}
	last := r.begin.Load() + int64(w.res.LastDone)
	if !w.ended {
		w.edge(last)
	}
	// Threads that ran out of work (number_ios) before the end of a timed window ended it.
	if early := r.begin.Load() + int64(w.res.Elapsed) - last; r.timed && early > 0 && w.stretched == 0 {
		w.res.Elapsed -= time.Duration(early)
		w.res.WallElapsed -= time.Duration(early)
	}
	w.res.Drained = max(w.res.Drained-w.stretched, 0)
	if sums.all != w.seen || len(w.res.Samples) == 0 {
		w.sample(r.begin.Load()+int64(w.res.Elapsed), sums.all)
	}
	for i := range w.lanes {
		l := &w.lanes[i]
		if all := sums.lanes[i]; all != l.seen {
			l.add(r, r.begin.Load()+int64(w.res.Elapsed), all)
		}
		w.res.Jobs[i].Samples = l.all
	}
}

// laneSamples are the samples of one of the job's NumJobs.
type laneSamples struct {
	seen [2]count
	all  []Sample
}

// add adds the interval that ends at now; all is the number of reads and writes counted by then.
func (l *laneSamples) add(r *Run, now int64, all [2]count) {
	l.all = append(l.all, newSample(r, now, l.seen, all))
	l.seen = all
}

// sampleLanes adds an interval for each of the NumJobs.
func (w *watch) sampleLanes(now int64) {
	for i := range w.lanes {
		w.lanes[i].add(w.run, now, progressOf(w.run.laneThreads(i)))
	}
}

// sample adds the interval that ends at now; all is the number of reads and writes counted by then.
func (w *watch) sample(now int64, all [2]count) {
	s := newSample(w.run, now, w.seen, all)
	w.seen = all
	w.res.Samples = append(w.res.Samples, s)
	if w.onSample != nil {
		w.onSample(s)
	}
}

// newSample returns the interval that ends at now; seen was counted by its beginning and all by its end.
func newSample(run *Run, now int64, seen, all [2]count) Sample {
	r, wr := all[opRead].minus(seen[opRead]), all[opWrite].minus(seen[opWrite])
	return Sample{
		At: time.Duration(now - run.begin.Load()), Ops: r.ops + wr.ops, Bytes: r.bytes + wr.bytes, Lat: time.Duration(r.lat + wr.lat),
		WriteOps: wr.ops, WriteBytes: wr.bytes, WriteLat: time.Duration(wr.lat),
	}
}

// err returns the error that Start returns with the result.
func (w *watch) err(ctx context.Context) error {
	errs := w.run.errs
	if w.cancelled {
		errs = append(errs, context.Cause(ctx))
	}
	return errors.Join(errs...)
}

// laneThreads returns the threads of one of the job's NumJobs.
func (r *Run) laneThreads(i int) []*thread {
	per := len(r.threads) / len(r.lanes)
	return r.threads[i*per : (i+1)*per]
}

// progressOf returns the reads and writes that the threads have counted so far.
func progressOf(threads []*thread) (all [2]count) {
	for _, t := range threads {
		for op := range all {
			p := &t.acct.progress[op]
			all[op].ops += p.ops.Load()
			all[op].bytes += p.bytes.Load()
			all[op].lat += p.lat.Load()
		}
	}
	return all
}
