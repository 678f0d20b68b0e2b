package load

import "time"

// spinFor is how long before its time an I/O of an open loop is awaited by
// reading the clock instead of sleeping: the kernel's timers are that late.
const spinFor = 50 * time.Microsecond

// nap is the longest sleep without a look at the run's end.
const nap = 10 * time.Millisecond

// nextDue returns when the next I/O of an open loop should start. A due time of 0
// means none elsewhere, so the first is one nanosecond late.
func (t *thread) nextDue(rate int64) int64 {
	if !t.holding {
		t.hold = max(t.run.start+due(t.lane.ticket.Add(1)-1, rate), 1)
		t.holding = true
	}
	return t.hold
}

// idle waits at most d, with no I/O in flight. It returns early to let the thread
// look at the end of the run.
func (t *thread) idle(now int64, d time.Duration) {
	d = min(d, time.Duration(t.run.end.Load()-now), nap)
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
	return t.run.unlimited || s.start >= t.run.begin || t.lane.take()
}

// publish shows others how far the thread is.
func (t *thread) publish() {
	a := &t.acct
	if n := int64(a.lat[opRead].Count() + a.lat[opWrite].Count()); n != a.total {
		a.total = n
		a.progress.Store(n)
	}
}
