package load

import (
	"io"
	"syscall"
	"time"
)

// asyncLoop keeps the depth filled and counts completions until the end. It reads the clock twice per batch: before the
// batch's I/Os are made, and after the kernel has answered. All I/Os of a batch start at the first reading and end at
// the second. Their latency therefore includes the generator's time for the batch (some 10 ns per I/O), and is never
// less than the true value.
func (t *thread) asyncLoop() error {
	r := t.run
	clk := &r.clk
	var failed error
	for {
		t.turn()
		now := clk.now()
		wait := forever
		if t.seek != nil && failed == nil {
			if failed = t.search(now, len(t.slots)-len(t.free)); failed != nil {
				r.stop()
			}
			now = clk.now()
		}
		switch {
		case failed != nil:
		case now < r.last.Load():
			wait = t.fill(now)
		case len(t.free) == len(t.slots):
			if due, begin := t.mustBeginOne(); begin {
				s := t.take()
				t.arm(s, now, due, true)
				t.batch = append(t.batch, s)
			}
		}
		if len(t.batch) == 0 && len(t.free) == len(t.slots) {
			switch {
			case failed != nil || t.out || now >= r.last.Load():
				return failed
			case t.thinkDue():
				t.think()
			case t.scriptSync(now):
				if failed = t.playSync(now); failed != nil {
					return failed
				}
			case t.syncDue():
				if failed = t.sync(); failed != nil {
					return failed
				}
			case wait >= 0:
				t.idle(now, wait)
			}
			continue
		}
		want := 1
		if wait >= 0 {
			if wait -= spinFor; wait <= 0 {
				wait, want = 0, 0
			}
		}
		t.waits(true)
		out, err := t.async.run(t.batch, want, wait)
		t.waits(false)
		t.batch = t.batch[:0]
		if err != nil {
			// The ring itself is broken. The kernel may still write to the buffers, so they must not be released.
			t.bufs = nil
			return &IOError{Path: r.job.path(0), Op: r.engine, Err: err}
		}
		if err := t.reapAt(out, clk.now()); err != nil && failed == nil {
			failed = err
			r.stop()
		}
	}
}

// fill makes I/Os for the free slots. It returns the time until the next I/O of an open loop is due, or forever if
// there is none to wait for.
func (t *thread) fill(now int64) time.Duration {
	r := t.run
	if t.play != nil {
		return t.fillScript(now)
	}
	for len(t.free) > 0 {
		if t.seek != nil && t.seek.full(len(t.slots)-len(t.free)) {
			return forever
		}
		if t.syncDue() || t.thinkDue() || t.out || len(t.batch) > 0 && t.dropDue() {
			return forever
		}
		if w, ok := t.backDue(); ok {
			s := t.free[len(t.free)-1]
			t.free = t.free[:len(t.free)-1]
			t.armBack(s, now, w)
			t.batch = append(t.batch, s)
			continue
		}
		if wait := r.ahead(); wait > 0 {
			return wait
		}
		due := int64(0)
		if r.pace.open {
			if due = t.nextDue(); due > now {
				return time.Duration(due - now)
			}
		}
		counted := now >= r.begin.Load()
		if counted && !t.budget() {
			return forever
		}
		t.holding = false
		r.flows()
		if t.dropDue() {
			t.drop()
			now = r.clk.now()
		}
		s := t.take()
		t.arm(s, now, due, counted)
		t.batch = append(t.batch, s)
	}
	return forever
}

// take takes a free slot.
func (t *thread) take() uint32 {
	s := t.free[len(t.free)-1]
	t.free = t.free[:len(t.free)-1]
	return s
}

// arm turns the free slot s into the next I/O. counted means that the I/O belongs to the window and was taken off the
// budget.
func (t *thread) arm(s uint32, now, due int64, counted bool) {
	sl := &t.slots[s]
	if t.run.ceiling.on {
		t.draw(now)
	}
	if t.run.split {
		t.gen.room = t.lane.room(counted)
	}
	t.gen.next(sl)
	sl.start, sl.due, sl.done, sl.state = now, due, 0, 0
	if counted {
		sl.state = countedIO
	}
	if sl.op == opRead {
		sl.seg = s
		if t.run.job.SyncReads {
			t.readSince = t.synced && t.sinceSync == 0
		}
		if t.back != nil {
			t.back.fresh = false
		}
	} else {
		t.seq++
		t.sinceSync++
		sl.seg = t.bufs.fill(&t.gen, int64(sl.size), sl.off, t.seq)
		if t.bufs.refill == RefillBefore {
			sl.start = t.run.clk.now()
		}
		if t.back != nil {
			t.back.wrote(sl)
			t.outdate(sl)
		}
	}
	sl.buf = t.bufs.addr(sl.seg)
	t.lastSize = sl.size
	t.sinceDrop += int64(sl.size)
	t.acct.started++
	t.sinceThink++
	if t.run.split && counted && !(t.gen.pairs && sl.op == opRead) {
		t.lane.bytes.Add(-int64(sl.size))
	}
	if due != 0 && counted {
		t.lateness(now - due)
	}
}

// reapAt is reap, under a lock against other readers once the threads have no more I/O to begin.
func (t *thread) reapAt(out []completion, now int64) error {
	if now < t.run.last.Load() {
		return t.reap(out, now)
	}
	t.run.draining.Lock()
	defer t.run.draining.Unlock()
	return t.reap(out, now)
}

// reap counts the completions that were seen at now.
func (t *thread) reap(out []completion, now int64) error {
	t.turn()
	a := &t.acct
	r := t.run
	inWindow := now >= r.begin.Load() && (!r.timed || now <= r.end.Load())
	var err error
	// Completions of one batch mostly have the same latency: record them together.
	var n [2]uint64
	var last [2]int64
	for _, c := range out {
		sl := &t.slots[c.slot]
		if c.res != int32(sl.size) {
			if t.refused(sl, c.res, now) {
				t.release(c.slot)
				continue
			}
			if again, e := t.uneven(sl, c.res); again {
				t.batch = append(t.batch, c.slot)
				continue
			} else if e != nil {
				if !t.goesOn(sl, e, now) && !t.stopIfFull(sl, e) {
					err = e
				}
				t.release(c.slot)
				continue
			}
		}
		op := sl.op & 1
		if op == opRead && t.bufs.unit > 0 {
			if e := t.judge(sl); e != nil {
				err = e
			}
		}
		switch {
		case inWindow && !t.paid(sl):
		case inWindow:
			lat := now - sl.start
			if lat != last[op] {
				a.lat[op].RecordN(last[op], n[op])
				last[op], n[op] = lat, 0
			}
			n[op]++
			a.bytes[op] += int64(sl.size)
			if t.more {
				t.countMore(sl, now)
			}
		default:
			t.overrun(sl, now, false)
		}
		t.release(c.slot)
	}
	for op := range n {
		a.lat[op].RecordN(last[op], n[op])
	}
	t.publish(now)
	return err
}

// release makes the slot free again.
func (t *thread) release(s uint32) {
	if sl := &t.slots[s]; sl.op == opWrite {
		t.bufs.giveSegment(sl.seg)
	}
	t.free = append(t.free, s)
}

// refused reports whether the kernel did not take an I/O and the run is over. Such an I/O is abandoned; otherwise a run
// would never end on a machine that has no memory for requests.
func (t *thread) refused(sl *slot, res int32, now int64) bool {
	r := t.run
	if res != -int32(syscall.EAGAIN) && res != -int32(syscall.ECANCELED) || now < r.last.Load() {
		return false
	}
	t.overrun(sl, now, true)
	t.unwritten(sl)
	return true
}

// uneven handles an attempt that did not move the whole block, after a signal or a short transfer. again reports
// whether the I/O must go on.
func (t *thread) uneven(sl *slot, res int32) (again bool, err error) {
	if res < 0 {
		errno := syscall.Errno(-res)
		// Plimsoll cancels nothing. The kernel itself cancels all waiting requests if a signal keeps it from creating a
		// worker for io_uring (create_worker_cont in its io_uring/io-wq.c), as happens on a slow machine.
		if errno == syscall.EINTR || errno == syscall.EAGAIN || errno == syscall.ECANCELED {
			return true, nil
		}
		return false, t.failure(sl, errno)
	}
	if res == 0 {
		return false, t.failure(sl, io.ErrUnexpectedEOF)
	}
	before := sl.done
	sl.done += int64(res)
	if sl.done >= int64(sl.size) {
		return false, nil
	}
	if t.run.job.Direct {
		// A direct transfer must continue at an aligned offset.
		sl.done &^= 511
	}
	if sl.done <= before {
		// Less than a sector: the file ends in the middle of one. The next attempt would get the same bytes, without
		// end.
		return false, t.failure(sl, io.ErrUnexpectedEOF)
	}
	return true, nil
}

// failure describes a failed I/O of a slot.
func (t *thread) failure(sl *slot, err error) error {
	return &IOError{
		Path: t.run.job.path(int(sl.file)), Op: t.run.opName(int(sl.op)),
		Offset: sl.off + sl.done, Size: int64(sl.size) - sl.done, Err: err,
	}
}
