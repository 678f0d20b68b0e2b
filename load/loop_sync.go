package load

import "time"

// syncLoop does one I/O after the other with pread and pwrite.
func (t *thread) syncLoop() error {
	r := t.run
	clk := &r.clk
	for {
		t.turn()
		now := clk.now()
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
			return nil
		}
		due := int64(0)
		if r.pace.open {
			if due = t.nextDue(); due > now {
				t.idle(now, time.Duration(due-now))
				continue
			}
		}
		counted := now >= r.begin.Load()
		if counted && !t.budget() {
			return nil
		}
		t.holding = false
		if t.dropDue() {
			t.drop()
			now = clk.now()
		}
		t.arm(0, now, due, counted)
		sl := &t.slots[0]
		if t.peer != nil && sl.op == opWrite {
			if err := t.meet(sl); err != nil {
				return err
			}
			sl.start = clk.now()
		}
		t.waits(now)
		f := r.files[sl.file]
		res := f.transfer(sl)
		for res != int32(sl.size) {
			if t.refusedAt(sl, res, clk.now()) {
				return nil
			}
			again, err := t.uneven(sl, res)
			if err != nil {
				return err
			}
			if !again {
				break
			}
			res = f.transfer(sl)
		}
		t.count(sl, clk.now())
		if t.peer != nil && sl.op == opRead {
			if err := t.meet(sl); err != nil {
				return err
			}
		}
		if sl.op == opRead && t.checks {
			if err := t.verify(sl); err != nil {
				return err
			}
		}
	}
}

// refusedAt is refused, which others may look at.
func (t *thread) refusedAt(sl *slot, res int32, now int64) bool {
	if now < t.run.last.Load() {
		return false
	}
	t.run.draining.Lock()
	defer t.run.draining.Unlock()
	return t.refused(sl, res, now)
}

// count counts the I/O of psync's only slot, complete at now.
func (t *thread) count(sl *slot, now int64) {
	if now < t.run.last.Load() {
		t.countIt(sl, now)
		return
	}
	t.run.draining.Lock() // As reapAt does.
	defer t.run.draining.Unlock()
	t.countIt(sl, now)
}

func (t *thread) countIt(sl *slot, now int64) {
	r := t.run
	t.turn()
	if sl.op == opWrite {
		t.bufs.giveSegment(sl.seg)
	}
	sl.busy = false
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
	if t.acct.files != nil {
		t.acct.inFile(sl, now-sl.start)
	}
	t.note(sl, now)
	if sl.due != 0 {
		t.acct.response[op].Record(now - sl.due)
	}
	if t.round > 0 {
		t.cross(sl, now-sl.start)
	}
	t.publish(now)
}
