package load

import (
	"math"
	"math/bits"
	"time"
)

// spinFor is how long before its time an I/O of an open loop is awaited by
// reading the clock instead of sleeping: the kernel's timers are that late.
const spinFor = 50 * time.Microsecond

// nap is the longest sleep without a look at the run's end.
const nap = 10 * time.Millisecond

// A pace is the schedule of an open loop.
type pace struct {
	rate    int64 // I/Os or bytes a second; 0: closed loop
	weight  int64 // what one I/O counts; 0: its bytes
	poisson bool
}

func newPace(j Job) pace {
	p := pace{rate: j.RateIOPS, weight: 1, poisson: j.RateProcess == Poisson}
	if j.Rate > 0 {
		p.rate, p.weight = j.Rate, j.BS
		if j.split() {
			p.weight = 0
		}
	}
	return p
}

// tick is the unit of a Poisson schedule's time: a 1024th of a nanosecond, so
// that rounding the gaps does not add up. fio rounds to whole microseconds.
const tick = 1024

// due is when I/O number k of an open loop should start, from the start of the
// run, in nanoseconds. The schedule is linear and has no rounding that adds up:
// fio's counts in whole microseconds.
func due(k, rate int64) int64 {
	hi, lo := bits.Mul64(uint64(k), 1e9)
	if hi >= uint64(rate) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(rate))
	return int64(min(q, math.MaxInt64))
}

// nextDue returns when the next I/O of an open loop should start. A due time of 0
// means none elsewhere, so the first is one nanosecond late.
func (t *thread) nextDue() int64 {
	if !t.holding {
		t.hold = max(t.run.start+t.arrival(), 1)
		t.holding = true
	}
	return t.hold
}

// arrival moves the lane's schedule on by one I/O and returns when that should start, from the
// start of the run.
func (t *thread) arrival() int64 {
	p := &t.run.pace
	w := p.weight
	if w == 0 {
		// The next one's size isn't drawn yet: the last one's makes up for it.
		w = int64(t.lastSize)
	}
	if p.poisson {
		// Independent exponential gaps make a Poisson process, whichever of the lane's threads draws them.
		gap := -math.Log1p(-t.gen.float()) * float64(w) / float64(p.rate) * (1e9 * tick)
		return t.lane.ticket.Add(int64(gap)) / tick
	}
	k := t.lane.ticket.Add(w)
	if p.weight != 0 {
		k -= w
	}
	return due(k, p.rate)
}

// missed is how many I/Os of an open loop the schedule asked for until the end
// but no thread took up.
func (r *Run) missed(started int64) int64 {
	p := &r.pace
	if p.rate == 0 || r.job.Runtime == 0 || !r.unlimited || p.weight == 0 {
		return 0
	}
	end := r.last.Load() - r.start
	if !p.poisson {
		asked := int64(float64(end)/1e9*float64(p.rate)/float64(p.weight)) * int64(r.job.NumJobs)
		return max(asked-started, 0)
	}
	// What the schedule had not drawn by the end is expected at its rate.
	missed := 0.0
	for _, l := range r.lanes {
		missed += max(float64(end-l.ticket.Load()/tick), 0) / 1e9 * float64(p.rate) / float64(p.weight)
	}
	return int64(missed)
}

// idle waits at most d, with no I/O in flight. It returns early to let the thread
// look at the end of the run.
func (t *thread) idle(now int64, d time.Duration) {
	d = min(d, time.Duration(t.run.last.Load()-now), nap)
	if d > spinFor {
		sleep(d - spinFor)
		return
	}
	for until := now + int64(d); t.run.clk.now() < until; {
	}
}

// lateness counts an I/O of an open loop that started d nanoseconds after its time.
func (t *thread) lateness(d int64) {
	if d > int64(LateAfter) {
		t.acct.late++
	}
	t.acct.maxLate = max(t.acct.maxLate, d)
}

// thinkDue reports whether enough was done for a pause. The I/Os in flight are awaited first.
func (t *thread) thinkDue() bool { return t.run.thinkEvery > 0 && t.sinceThink >= t.run.thinkEvery }

// think pauses. Nothing of this thread is in flight.
func (t *thread) think() {
	t.sinceThink = 0
	r := t.run
	now := r.clk.now()
	spin, until := now+int64(r.job.ThinkTimeSpin), now+int64(r.job.ThinkTime)
	for ; now < until && now < r.last.Load(); now = r.clk.now() {
		t.turn()
		if now >= spin {
			t.idle(now, time.Duration(until-now))
		}
	}
}

// awaitStart waits for the job's start, which startdelay puts off.
func (t *thread) awaitStart() {
	r := t.run
	for now := r.clk.now(); now < r.start && now < r.last.Load(); now = r.clk.now() {
		t.idle(now, time.Duration(r.start-now))
	}
}

// budget takes one I/O off the lane's budget, if it has one.
func (t *thread) budget() bool {
	if t.run.unlimited {
		return true
	}
	if !t.lane.take() {
		t.out = true
		return false
	}
	return true
}

// paid reports whether an I/O that completes in the window may be counted. One that was taken
// up in the ramp is not yet paid for out of the budget, and would make a job of 100 I/Os do 101.
func (t *thread) paid(s *slot) bool {
	if t.run.unlimited || s.counted {
		return true
	}
	if t.run.split {
		t.lane.bytes.Add(-int64(s.size))
	}
	return t.lane.take()
}
