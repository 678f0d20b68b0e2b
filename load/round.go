package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A Round is one part of the measured window (Job.Round). Each I/O belongs to the round in which its thread saw it
// complete.
type Round struct {
	// Number counts the rounds from 0.
	Number int
	// From and To are its ends, from the beginning of the window. The round may be longer than the job asked for: a
	// busy machine ends a round late, and no round ends before all threads have handed in the one before.
	From, To time.Duration
	// Start is its beginning by the wall clock, and WallElapsed its length by the same clock.
	Start       time.Time
	WallElapsed time.Duration
	// Classes are as in Result.
	Classes []Class
	// Late and MaxLate are as in Result. Behind is the number of I/Os of an open loop that were due by the end of the
	// round and not yet taken up.
	Late    int64
	MaxLate time.Duration
	Behind  int64
	// Crossings are the I/Os of Classes that were in flight when the round began. A caller that counts only the rounds
	// before it needs them: they were in flight at the end of those.
	Crossings []Crossing
}

// A Crossing is an operation that was in flight at the end of a round.
type Crossing struct {
	// Class is the kind of operation: read, write or sync.
	Class string
	// Start is when it began, from the beginning of the window; negative in the ramp.
	Start time.Duration
	// Lat is how long it took. Response is how long it took from when it was due in an open loop, otherwise 0. AtLeast
	// means that it had not ended yet.
	Lat, Response time.Duration
	AtLeast       bool
}

// leastRound is the shortest round: several of the least samples.
const leastRound = 4 * leastSample

// A book collects what the threads counted in a round that has ended.
type book struct {
	// number is the number of the open round. A thread that sees it change hands in its account.
	number atomic.Int64
	began  int64 // when that round began, under mu

	mu      sync.Mutex
	closed  account // the accounts handed in for the round before the open one
	waiting int     // number of threads that have not handed in
	total   account // all rounds that were taken
	full    chan struct{}
}

// turn hands in what t counted, if the round that it counted in has ended.
func (t *thread) turn() {
	if b := t.run.book; b != nil && b.number.Load() != t.round {
		t.handIn(b)
	}
}

func (t *thread) handIn(b *book) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := &t.acct
	b.closed.merge(a)
	for op := range a.handed {
		a.handed[op] = a.counted(op)
	}
	a.empty()
	a.show() // So that samples never fall behind what was handed in.
	t.round, t.from = b.number.Load(), b.began
	if b.waiting--; b.waiting == 0 {
		b.full <- struct{}{}
	}
}

// empty clears what was counted since the account was last handed in.
func (a *account) empty() {
	for op := range opCount {
		a.bytes[op] = 0
		a.lat[op].Reset()
		a.response[op].Reset()
	}
	for op := range a.prios {
		for i := range a.prios[op] {
			a.prios[op][i].Reset()
		}
	}
	a.over, a.first, a.after, a.crossed = [opCount]overrun{}, ending{}, ending{}, a.crossed[:0]
	a.started, a.late, a.maxLate = 0, 0, 0
	a.failed, a.failure = [2]int64{}, failure{}
}

// rounds follows a measured window that has rounds. Each round ends with a sample.
type rounds struct {
	*watch
	book *book
	// open is the current round. closing is one that some threads have not handed in yet; it is valid if closes is set.
	open, closing Round
	closes        bool
	wall          time.Time // at the beginning of the open round
}

// watchRounds is watch.window for a job with rounds.
func (w *watch) watchRounds(ctx context.Context) {
	r := w.run
	rs := &rounds{watch: w, book: r.book, wall: w.wall}
	w.rounds = rs
	begin, round := r.begin.Load(), int64(r.job.Round)
	every := round / max(round/int64(SampleEvery(samplesPerWindow*r.job.Round)), 1)
	sample, next := begin+every, begin+round
	for {
		at := min(sample, next)
		if end := r.end.Load(); at+int64(leastSample) > end {
			w.until(ctx, end)
			break
		}
		if !w.until(ctx, at) {
			break
		}
		now := r.clk.now()
		if now >= r.end.Load() {
			break // this goroutine was late: the rest is the last sample and the last round
		}
		if at == next {
			now = rs.close()
			if !rs.await(ctx) {
				break
			}
			// A round that ended late must not make the next one a splinter.
			for next += round; next < now+round/2; next += round {
			}
			sample = now
			w.sample(now, r.book.counted())
		} else {
			w.sample(now, progressOf(r.threads))
		}
		for sample += every; sample <= now; sample += every {
		}
	}
	w.edge(r.end.Load())
	w.drain()
}

// samplesPerWindow is the number of rounds that are sampled as finely as a window of their combined length: those that
// package steady judges together.
const samplesPerWindow = 5

// close ends the open round now, and returns the time of its end.
func (rs *rounds) close() int64 {
	r, b := rs.run, rs.book
	if r.OnTurn != nil {
		r.OnTurn(rs.open.Number)
	}
	b.mu.Lock()
	b.waiting = len(r.threads)
	now := r.clk.now()
	b.began = now
	b.number.Store(int64(rs.open.Number) + 1)
	b.mu.Unlock()
	rs.end(now)
	return now
}

// end makes the open round the closing one, and begins the next.
func (rs *rounds) end(now int64) {
	wall := rs.run.wall().Round(0).UTC()
	rs.closing, rs.closes = rs.open, true
	rs.closing.To = time.Duration(now - rs.run.begin.Load())
	rs.closing.Start, rs.closing.WallElapsed = rs.wall, wall.Sub(rs.wall)
	rs.closing.Behind = rs.run.behind(min(now, rs.run.end.Load()))
	rs.open = Round{Number: rs.open.Number + 1, From: rs.closing.To}
	rs.wall = wall
}

// await waits until all threads have handed in the closing round. It reports whether the run goes on.
func (rs *rounds) await(ctx context.Context) bool {
	select {
	case <-rs.book.full:
		rs.take(&rs.book.closed)
		return true
	case <-rs.done:
	case <-rs.beyond():
	case <-ctx.Done():
		rs.cancelled = true
		rs.run.stop()
	}
	return false
}

// beyond returns a channel that receives when the end of the window has come.
func (rs *rounds) beyond() <-chan time.Time {
	return time.After(time.Duration(rs.run.end.Load() - rs.run.clk.now()))
}

// take reports the closing round; a holds its I/Os.
func (rs *rounds) take(a *account) {
	b := rs.book
	b.total.merge(a)
	rs.closes = false
	c := rs.closing
	c.Late, c.MaxLate = a.late, time.Duration(a.maxLate)
	for _, class := range rs.run.classes(a) {
		c.Classes = append(c.Classes, class.clone()) // The account is used again.
	}
	c.Crossings = rs.run.crossings(a)
	a.empty()
	if rs.run.OnRound != nil {
		rs.run.OnRound(c)
	}
}

// counted returns the counts of reads and writes in all rounds that were taken.
func (b *book) counted() (all [2]count) {
	for op := range all {
		all[op] = b.total.counted(op)
	}
	return all
}

// finish takes what the threads have left after all of them have ended: the rest of a closing round, and the last
// round, unless that was shorter than half its time.
func (rs *rounds) finish() {
	b, r := rs.book, rs.run
	last := new(account)
	for _, t := range r.threads {
		if t.round != b.number.Load() {
			b.closed.merge(&t.acct)
		} else {
			last.merge(&t.acct)
		}
		t.acct.empty()
	}
	if rs.closes {
		rs.take(&b.closed)
	}
	end := r.begin.Load() + int64(rs.res.Elapsed)
	// The only I/O of a window that was extended until it ended is in the last round, however short that is.
	if rs.stretched == 0 && time.Duration(end-r.begin.Load())-rs.open.From < r.job.Round/2 {
		rs.res.Crossings = r.crossings(last)
		b.total.merge(last)
		return
	}
	rs.end(end)
	// By the run's clock the edge was read a little later than the end; see edge.
	rs.closing.WallElapsed = rs.res.Start.Add(rs.res.WallElapsed).Sub(rs.closing.Start)
	rs.take(last)
}

// behind returns the number of I/Os of an open loop that were due at now but not yet drawn from the schedule.
func (r *Run) behind(now int64) int64 {
	p := &r.pace
	if !p.open {
		return 0
	}
	n := 0.0
	for _, l := range r.lanes {
		since := float64(now - r.start - l.shift.Load())
		if !p.apart {
			// A Poisson schedule counts time; a linear one counts the weights of its I/Os.
			at := l.ticket.Load()
			n += p.of[0].undrawn(since, at, at, p.poisson)
			continue
		}
		l.tickets.mu.Lock()
		for op := range p.of {
			n += p.of[op].undrawn(since, l.tickets.count[op], l.tickets.time[op], p.poisson)
		}
		l.tickets.mu.Unlock()
	}
	return int64(n)
}

// undrawn returns the number of I/Os that the schedule has for the first since nanoseconds, but that were not drawn
// yet: a linear schedule has drawn as many as weigh count, a Poisson schedule those up to ticks. The rest of a Poisson
// schedule is estimated from its rate.
func (s schedule) undrawn(since float64, count, ticks int64, poisson bool) float64 {
	if s.rate == 0 || s.weight == 0 {
		return 0
	}
	perNS := float64(s.rate) / 1e9
	if poisson {
		return max(since-float64(ticks)/tick, 0) * perNS / float64(s.weight)
	}
	return max(since*perNS-float64(count), 0) / float64(s.weight)
}
