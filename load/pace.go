package load

import (
	"math"
	"math/bits"
	"sync"
	"time"
)

// spinFor is the time before an I/O of an open loop is due during which the thread reads the clock instead of sleeping:
// the kernel's timers may be that late.
const spinFor = 50 * time.Microsecond

// nap is the longest sleep without a look at the run's end.
const nap = 10 * time.Millisecond

// A pace is the schedule of an open loop, or its two schedules if reads and writes have one each.
type pace struct {
	open bool // the job is an open loop
	// of are the schedules: one for all I/Os, or one for reads and one for writes.
	of      [2]schedule
	apart   bool
	poisson bool
}

// A schedule says how often I/Os should start.
type schedule struct {
	rate   int64 // I/Os or bytes per second
	weight int64 // what one I/O counts; 0: its bytes
}

func newPace(j Job) pace {
	p := pace{open: j.OpenLoop(), apart: j.hasWriteRate(), poisson: j.RateProcess == Poisson}
	p.of[opRead], p.of[opWrite] = schedule{j.RateIOPS, 1}, schedule{j.WriteRateIOPS, 1}
	if j.Rate > 0 {
		weight := j.BS
		if j.split() {
			weight = 0
		}
		p.of[opRead], p.of[opWrite] = schedule{j.Rate, weight}, schedule{j.WriteRate, weight}
	}
	return p
}

// tick is the time unit of a Poisson schedule: a 64th of a nanosecond, so that rounding the gaps does not add up. fio
// rounds to whole microseconds. A schedule in int64 then lasts four and a half years, longer than ramp, runtime and
// cool-down may be together.
const tick = 64

// due returns when I/O number k of an open loop should start, in nanoseconds from the start of the run. The schedule is
// linear, and its rounding does not add up; fio's counts in whole microseconds.
func due(k, rate int64) int64 {
	hi, lo := bits.Mul64(uint64(k), 1e9)
	if hi >= uint64(rate) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(rate))
	return int64(min(q, math.MaxInt64))
}

// nextDue returns when the next I/O of an open loop should start. Elsewhere a due time of 0 means none, so the first
// I/O is one nanosecond late.
func (t *thread) nextDue() int64 {
	if !t.holding {
		t.hold = max(later(t.run.start, later(t.arrival(), t.lane.shift.Load())), 1)
		t.holding = true
	}
	return t.hold
}

// later returns the time d after at, capped at the end of time, which stands for an I/O that never comes due.
func later(at, d int64) int64 {
	if d > math.MaxInt64-at {
		return math.MaxInt64
	}
	return at + d
}

// arrival advances the lane's schedule by one I/O and returns when that I/O should start, from the start of the run.
func (t *thread) arrival() int64 {
	p := &t.run.pace
	if p.apart {
		return t.apartArrival()
	}
	w := p.of[0].weight
	if w == 0 {
		// The size of the next I/O isn't drawn yet: the size of the last one is charged instead.
		w = int64(t.lastSize)
	}
	if p.poisson {
		// Independent exponential gaps make a Poisson process, whichever of the lane's threads draws them.
		return t.lane.ticket.Add(t.gap(w, p.of[0].rate)) / tick
	}
	k := t.lane.ticket.Add(w)
	if p.of[0].weight != 0 {
		k -= w
	}
	return due(k, p.of[0].rate)
}

// longestGap bounds a gap of a Poisson schedule, in ticks: 18 minutes, which only a rate far below one I/O per minute
// approaches. The gaps that all threads draw then never exceed the range of a schedule.
const longestGap = 1 << 46

// gap draws the time in ticks from one arrival of a Poisson process to the next, for an I/O that counts w.
func (t *thread) gap(w, rate int64) int64 {
	return int64(min(math.Round(-math.Log1p(-t.gen.float())*float64(w)/float64(rate)*(1e9*tick)), longestGap))
}

// tickets are the positions in the schedules of a lane's reads and writes, if each has its own. The lane's threads take
// from both in the order of time. If each thread held one I/O of both kinds instead, a read that is due could wait for
// a write of the same thread while another thread is idle.
type tickets struct {
	mu sync.Mutex
	// count is the sum of what the I/Os so far count, time when the next one should start, in ticks.
	count, time [2]int64
	begun       bool
}

// apartArrival is arrival for reads and writes that have separate schedules. Their times decide whether the next I/O is
// a read or a write; apartArrival sets that in the generator.
func (t *thread) apartArrival() int64 {
	p, k := &t.run.pace, &t.lane.tickets
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.begun {
		k.begun = true
		for op := range p.of {
			t.advance(k, p.of[op], op, p.of[op].weight, true)
		}
	}
	if w := int64(t.lastSize); w > 0 && p.of[t.next].weight == 0 {
		t.advance(k, p.of[t.next], int(t.next), w, false)
	}
	t.next = opRead
	if k.time[opWrite] < k.time[opRead] {
		t.next = opWrite
	}
	t.gen.readShare = [2]uint64{opRead: 1 << 32, opWrite: 0}[t.next]
	at := k.time[t.next] / tick
	if w := p.of[t.next].weight; w > 0 {
		t.advance(k, p.of[t.next], int(t.next), w, false)
	}
	return at
}

// advance moves s, the schedule of reads or of writes, on by what counts w. first means that nothing has been counted
// yet; a Poisson process nevertheless begins with a gap.
func (t *thread) advance(k *tickets, s schedule, op int, w int64, first bool) {
	if t.run.pace.poisson {
		k.time[op] += t.gap(w, s.rate)
		return
	}
	if !first {
		k.count[op] += w
	}
	k.time[op] = min(due(k.count[op], s.rate), math.MaxInt64/tick) * tick
}

// missed returns the number of I/Os of an open loop that the schedule asked for before the end but no thread took up.
func (r *Run) missed(started int64) int64 {
	p := &r.pace
	if !p.open || r.job.Runtime == 0 || !r.unlimited {
		return 0
	}
	last := r.last.Load()
	if !p.poisson && p.of[0].weight != 0 {
		asked := int64(0)
		for _, l := range r.lanes {
			for _, s := range p.of {
				if s.rate > 0 {
					asked += int64(float64(max(last-r.start-l.shift.Load(), 0)) / 1e9 * float64(s.rate) / float64(s.weight))
				}
			}
		}
		return max(asked-started, 0)
	}
	missed := 0.0
	if p.poisson {
		missed = float64(r.held(last)) // A linear schedule counts an I/O when the next is taken.
	}
	for _, l := range r.lanes {
		count, time := [2]int64{l.ticket.Load()}, [2]int64{l.ticket.Load()}
		if p.apart {
			count, time = l.tickets.count, l.tickets.time
		}
		for op, s := range p.of {
			if s.rate == 0 {
				continue
			}
			if s.weight == 0 {
				s.weight = r.meanBlock(op)
			}
			missed += s.undrawn(float64(last-r.start-l.shift.Load()), count[op], time[op], p.poisson)
		}
	}
	return int64(missed)
}

// held returns how many I/Os threads took from the schedule and did not start, though they were due before last.
func (r *Run) held(last int64) (n int64) {
	for _, t := range r.threads {
		if t.holding && t.hold < last {
			n++
		}
	}
	return n
}

// meanBlock returns the mean size in bytes of the I/Os of schedule op, if they have several sizes.
func (r *Run) meanBlock(op int) int64 {
	if r.pace.apart {
		reads, writes := r.job.MeanSizes()
		return max([2]int64{reads, writes}[op], 1)
	}
	_, mean, _ := r.job.BlockSizes()
	return max(mean, 1)
}

// idle waits at most d, with no I/O in flight. It returns early to let the thread check for the end of the run.
func (t *thread) idle(now int64, d time.Duration) {
	d = min(d, time.Duration(t.run.last.Load()-now), nap)
	if d > spinFor {
		t.rest(d - spinFor)
		return
	}
	for until := now + int64(d); t.run.clk.now() < until; {
	}
}

// rest sleeps, and lets other goroutines read the thread's counters meanwhile.
func (t *thread) rest(d time.Duration) {
	if t.glance == nil || t.glance.waiting {
		sleep(d)
		return
	}
	t.glance.wait(true)
	sleep(d)
	t.glance.wait(false)
}

// lateness records that an I/O of an open loop started d nanoseconds late.
func (t *thread) lateness(d int64) {
	if d > int64(LateAfter) {
		t.acct.late++
	}
	t.acct.maxLate = max(t.acct.maxLate, d)
}

// thinkDue reports whether it is time for a pause. The I/Os in flight are awaited first.
func (t *thread) thinkDue() bool { return t.run.thinkEvery > 0 && t.sinceThink >= t.run.thinkEvery }

// think pauses. Nothing of this thread is in flight.
func (t *thread) think() {
	t.sinceThink = 0
	r := t.run
	now := r.clk.now()
	spin, until := now+int64(r.job.ThinkTimeSpin), now+int64(r.job.ThinkTime)
	begin := now
	for ; now < until && now < r.last.Load(); now = r.clk.now() {
		t.turn()
		if now >= spin {
			t.idle(now, time.Duration(until-now))
		}
	}
	if r.job.RateIgnoreThinkTime {
		// Each thread of a lane pauses by itself, but the lane's schedule is shared by all.
		d := (now - begin) * int64(len(r.lanes)) / int64(len(r.threads))
		t.lane.shift.Add(d)
		t.hold = later(t.hold, d) // If the thread has one.
	}
}

// awaitStart waits for the start of the job, which startdelay postpones.
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

// paid reports whether an I/O that completes in the window may be counted. An I/O that was taken up in the ramp is not
// yet charged to the budget; without a charge, a job of 100 I/Os would do 101.
func (t *thread) paid(s *slot) bool {
	if t.run.unlimited || s.is(countedIO) {
		return true
	}
	if t.run.split {
		t.lane.bytes.Add(-int64(s.size))
	}
	return t.lane.take()
}
