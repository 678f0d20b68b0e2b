package load

import (
	"slices"
	"time"
)

// An overrun counts the operations of one kind that were in flight when the window ended. Their latencies count; they
// themselves do not.
type overrun struct {
	n, atLeast int64
	lat        int64 // their sum
}

func (o *overrun) add(p overrun) {
	o.n, o.atLeast, o.lat = o.n+p.n, o.atLeast+p.atLeast, o.lat+p.lat
}

// An ending is the end of the first read or write that was in flight at the window's end, and when the last operation
// ended; 0: there was none.
type ending struct {
	at, last int64
	lat      int64
	due      int64 // in an open loop, else 0
	size     int64
	op, prio uint8
	file     uint16
}

// newEnding returns the ending of the slot's I/O, which ended at now.
func newEnding(sl *slot, now int64) ending {
	return ending{at: now, last: now, lat: now - sl.start, due: sl.due, size: sl.size, op: sl.op, prio: sl.state >> prioShift, file: sl.file}
}

// earlier combines two endings.
func earlier(a, b ending) ending {
	last := max(a.last, b.last)
	if a.at == 0 || b.at != 0 && b.at < a.at {
		a = b
	}
	a.last = last
	return a
}

// overrun counts an operation that ended at now, or was given up then, if it was in flight when the window ended.
func (t *thread) overrun(sl *slot, now int64, givenUp bool) {
	r := t.run
	if now <= r.begin.Load() || !r.unlimited && !sl.is(countedIO) {
		return
	}
	if t.beyond(sl) {
		if t.acct.after.at == 0 && sl.op != opSync && !givenUp {
			t.acct.after = newEnding(sl, now)
		}
		return
	}
	t.acct.overrun(sl, now, givenUp)
	if sl.op != opSync && !givenUp {
		t.note(sl, now)
	}
	if r.book != nil {
		t.acct.crossed = append(t.acct.crossed, crossing{op: sl.op, givenUp: givenUp, start: sl.start, due: sl.due, end: now})
	}
}

func (a *account) overrun(sl *slot, now int64, givenUp bool) {
	o := overrun{n: 1, lat: now - sl.start}
	if givenUp {
		o.atLeast = 1
	}
	a.over[sl.op].add(o)
	a.lat[sl.op].Record(o.lat)
	a.byPriority(sl.op, sl.state>>prioShift, o.lat)
	if sl.due != 0 {
		a.response[sl.op].Record(now - sl.due)
	}
	e := ending{last: now}
	if sl.op != opSync {
		if !givenUp {
			e = newEnding(sl, now)
		}
		if a.files != nil {
			f := &a.files[sl.file]
			f.lat[sl.op].Record(o.lat)
			f.over[sl.op].add(o)
		}
	}
	a.first = earlier(a.first, e)
}

// drained returns how long after the end of the window the last operation in flight ended.
func (a *account) drained(end int64) time.Duration {
	if a.first.last == 0 {
		return 0
	}
	return time.Duration(max(a.first.last-end, 0))
}

// stretch handles a window in which no read or write completed. It extends the window to the first end of an I/O that
// was in flight, or was begun after the window, and counts that I/O. A stall longer than the window then makes a slow
// job instead of an empty one. stretch returns the new end, or 0 for all other windows.
func (r *Run) stretch(accounts []*account) int64 {
	if !r.timed || r.end.Load() <= r.begin.Load() {
		return 0
	}
	var first *account
	var e ending
	for _, a := range accounts {
		for op := range 2 {
			if a.counted(op).ops > 0 {
				return 0
			}
		}
		for _, one := range []ending{a.first, a.after} {
			if one.at > 0 && (first == nil || one.at < e.at) {
				first, e = a, one
			}
		}
	}
	if first == nil {
		return 0
	}
	first.complete(e, e == first.after)
	return e.at
}

// complete counts an I/O that ended after the window as one of the window. begun means that it was also begun after the
// window and is in no latency.
func (a *account) complete(e ending, begun bool) {
	one := overrun{n: -1, lat: -e.lat}
	if begun {
		one = overrun{}
		a.lat[e.op].Record(e.lat)
		a.byPriority(e.op, e.prio, e.lat)
		if e.due != 0 {
			a.response[e.op].Record(e.at - e.due)
		}
	}
	a.over[e.op].add(one)
	a.bytes[e.op] += e.size
	if a.files == nil {
		return
	}
	f := &a.files[e.file]
	if begun {
		f.lat[e.op].Record(e.lat)
	}
	f.over[e.op].add(one)
	f.bytes[e.op] += e.size
}

// A crossing is a Crossing in times of the run's clock.
type crossing struct {
	op              uint8
	givenUp         bool
	start, due, end int64
}

// cross records an operation that took lat if it was in flight when its round began. It applies after the first round
// of a job with rounds.
func (t *thread) cross(sl *slot, lat int64) {
	if sl.start < t.from {
		t.acct.crossed = append(t.acct.crossed, crossing{op: sl.op, start: sl.start, due: sl.due, end: sl.start + lat})
	}
}

// crossings converts the crossings of a.
func (r *Run) crossings(a *account) []Crossing {
	var all []Crossing
	for _, c := range a.crossed {
		o := Crossing{
			Class: r.opName(int(c.op)), AtLeast: c.givenUp,
			Start: time.Duration(c.start - r.begin.Load()), Lat: time.Duration(c.end - c.start),
		}
		if c.due != 0 {
			o.Response = time.Duration(c.end - c.due)
		}
		all = append(all, o)
	}
	return all
}

// hangEvery is how often a run reports that I/Os of its window are still in flight.
const hangEvery = time.Second

// drain waits until all threads are done: until nothing is in flight.
func (w *watch) drain() {
	r := w.run
	if r.OnHang == nil || !r.timed {
		<-w.done
		return
	}
	tick := time.NewTicker(hangEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.done:
			return
		case <-tick.C:
		}
		if now := r.clk.now(); now >= r.last.Load()+int64(hangEvery)/2 {
			if res := w.hanging(now); res != nil {
				r.OnHang(res)
			}
		}
	}
}

// hanging returns the result as if the I/Os in flight at now never ended. It is nil if none is in flight, or if a
// thread can't be inspected.
func (w *watch) hanging(now int64) *Result {
	r := w.run
	r.draining.Lock()
	defer r.draining.Unlock()
	var accounts []*account
	any := false
	for _, t := range r.threads {
		if !t.ended && !t.isWaiting() {
			return nil // The thread is running or runnable: it may be in the middle of an update.
		}
		a := new(account)
		a.merge(&t.acct)
		a.usage, a.doneAt = t.acct.usage, t.acct.doneAt
		if !t.ended {
			a.doneAt = r.end.Load()
			any = t.giveUp(a, now) || any
		}
		accounts = append(accounts, a)
	}
	if !any {
		return nil
	}
	res := *w.res
	res.Samples, res.Jobs = append([]Sample(nil), w.res.Samples...), nil
	sums := r.sum(&res, accounts)
	if sums.all != w.seen {
		res.Samples = append(res.Samples, newSample(r, r.begin.Load()+int64(res.Elapsed), w.seen, sums.all))
	}
	var last account
	for _, a := range accounts {
		last.crossed = append(last.crossed, a.crossed...)
	}
	res.Crossings = r.crossings(&last)
	return &res
}

// waits marks that the thread begins to wait in the kernel, or has returned and not yet read the clock. While it waits,
// it changes nothing that others read. At other times it may do so, even long after the window: it may have read the
// clock within the window and been descheduled since. Others look half a second after the end, when the thread has been
// switched out. A switch is a full barrier (Documentation/memory-barriers.txt, "Miscellaneous functions"), so they see
// what the thread wrote, without an atomic store per I/O. Only Go's race detector does not know that.
func (t *thread) waits(begin bool) {
	if raceDetector {
		t.away.Store(begin)
	} else {
		t.waiting = begin
	}
	if t.glance != nil {
		t.glance.wait(begin)
	}
}

// isWaiting reports whether the thread waits in the kernel.
func (t *thread) isWaiting() bool {
	if raceDetector {
		return t.away.Load()
	}
	return t.waiting
}

// giveUp adds what t has in flight at now to a.
func (t *thread) giveUp(a *account, now int64) (any bool) {
	r := t.run
	one := func(sl *slot) {
		if t.beyond(sl) || !r.unlimited && !sl.is(countedIO) {
			return
		}
		any = true
		a.overrun(sl, now, true)
		if r.book != nil {
			a.crossed = append(a.crossed, crossing{op: sl.op, givenUp: true, start: sl.start, due: sl.due, end: now})
		}
	}
	if t.syncing > 0 {
		one(&slot{op: opSync, start: t.syncing, state: countedIO})
	}
	for i := range t.slots {
		if t.inFlight(uint32(i)) {
			one(&t.slots[i])
		}
	}
	return any
}

// inFlight reports whether slot s carries an I/O.
func (t *thread) inFlight(s uint32) bool {
	if t.async == nil {
		return t.transferring
	}
	return !slices.Contains(t.free, s)
}
