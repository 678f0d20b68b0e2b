package load

import "time"

// syncLoop does one I/O after another with pread and pwrite.
func (t *thread) syncLoop() error {
	r := t.run
	clk := &r.clk
	for {
		t.turn()
		now := clk.now()
		if t.seek != nil {
			if err := t.search(now, 0); err != nil {
				return err
			}
			if t.out {
				return nil
			}
		}
		if t.syncDue() {
			if err := t.sync(); err != nil {
				return err
			}
			continue
		}
		if t.thinkDue() {
			t.think()
			continue
		}
		if now >= r.last.Load() {
			due, begin := t.mustBeginOne()
			if !begin {
				return nil
			}
			t.armAt(now, due, true)
		} else if t.play != nil && t.scriptSync(now) {
			if err := t.playSync(now); err != nil {
				return err
			}
			continue
		} else if w, ok := t.backDue(); ok {
			t.armBack(0, now, w)
		} else if armed, end := t.armNext(now); end {
			return nil
		} else if !armed {
			continue
		}
		t.transferring = true
		sl := &t.slots[0]
		if t.peer != nil && sl.op == opWrite {
			if err := t.meet(sl); err != nil {
				return err
			}
			sl.start = clk.now()
		}
		f := r.files[sl.file]
		t.waits(true)
		res := f.transfer(sl)
		t.waits(false)
		ended := false
		for res != int32(sl.size) {
			if t.refusedAt(sl, res, clk.now()) {
				return nil
			}
			again, err := t.uneven(sl, res)
			if ended = err != nil && t.failedAt(sl, err, clk.now()); ended {
				break
			}
			if t.stopIfFull(sl, err) {
				t.bufs.giveSegment(sl.seg)
				t.transferring = false
				return nil
			}
			if err != nil {
				return err
			}
			if !again {
				break
			}
			t.waits(true)
			res = f.transfer(sl)
			t.waits(false)
		}
		if ended {
			continue
		}
		t.count(sl, clk.now())
		if t.peer != nil && sl.op == opRead {
			if err := t.meet(sl); err != nil {
				return err
			}
		}
		if sl.op == opRead && t.bufs.unit > 0 {
			if err := t.judge(sl); err != nil {
				return err
			}
		}
	}
}

// armNext makes the next I/O in psync's only slot, or waits for its time. It reports whether it made one, and whether
// none is left.
func (t *thread) armNext(now int64) (armed, end bool) {
	r := t.run
	if t.play != nil {
		return t.playNext(now)
	}
	if wait := r.ahead(); wait > 0 {
		t.idle(now, wait)
		return false, false
	}
	due := int64(0)
	if r.pace.open {
		if due = t.nextDue(); due > now {
			t.idle(now, time.Duration(due-now))
			return false, false
		}
	}
	counted := now >= r.begin.Load()
	if counted && !t.budget() {
		return false, true
	}
	r.flows()
	t.armAt(now, due, counted)
	return true, false
}

// armAt makes the next I/O in psync's only slot, after what must come before it.
func (t *thread) armAt(now, due int64, counted bool) {
	t.holding = false
	if t.dropDue() {
		t.drop()
		now = t.run.clk.now()
	}
	t.arm(0, now, due, counted)
}

// refusedAt is refused, under a lock against other readers.
func (t *thread) refusedAt(sl *slot, res int32, now int64) bool {
	if now < t.run.last.Load() {
		return false
	}
	t.run.draining.Lock()
	defer t.run.draining.Unlock()
	return t.refused(sl, res, now)
}

// failedAt is goesOn, under a lock against other readers. If the job goes on, psync's only slot is free again.
func (t *thread) failedAt(sl *slot, err error, now int64) bool {
	if now >= t.run.last.Load() {
		t.run.draining.Lock()
		defer t.run.draining.Unlock()
	}
	if !t.goesOn(sl, err, now) {
		return false
	}
	if sl.op == opWrite {
		t.bufs.giveSegment(sl.seg)
	}
	t.transferring = false
	return true
}

// count counts the I/O of psync's only slot, which completed at now.
func (t *thread) count(sl *slot, now int64) {
	if now < t.run.last.Load() {
		t.countIt(sl, now)
		return
	}
	t.run.draining.Lock() // As in reapAt.
	defer t.run.draining.Unlock()
	t.countIt(sl, now)
}

func (t *thread) countIt(sl *slot, now int64) {
	r := t.run
	t.turn()
	if sl.op == opWrite {
		t.bufs.giveSegment(sl.seg)
	}
	t.transferring = false
	switch {
	case now < r.begin.Load():
		return
	case r.timed && now > r.end.Load():
		t.overrun(sl, now, false)
		return
	case !t.paid(sl):
		return
	}
	op := sl.op & 1
	t.acct.lat[op].Record(now - sl.start)
	t.acct.bytes[op] += int64(sl.size)
	if t.more {
		t.countMore(sl, now)
	}
	t.publish(now)
}

// countMore counts what only some jobs ask for (see thread.more), for an I/O of the window that completed at now.
func (t *thread) countMore(sl *slot, now int64) {
	a, lat := &t.acct, now-sl.start
	if a.files != nil {
		a.inFile(sl, lat)
	}
	a.byPriority(sl.op&1, sl.state>>prioShift, lat)
	t.note(sl, now)
	t.inInterval(sl, lat, now)
	if sl.due != 0 {
		a.response[sl.op&1].Record(now - sl.due)
	}
	if t.seek != nil {
		t.seek.took(lat)
	}
	if t.round > 0 {
		t.cross(sl, lat)
	}
}
