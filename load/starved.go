package load

// A thread that gets no CPU during the whole window begins nothing in it. If no other thread does either, the window
// has no I/O and says nothing, although the storage works. So one I/O is begun in any case, unless one was begun in the
// cool-down. The window then lasts until the first I/O has ended (see stretch), and its result is that of a slow job.

// mustBeginOne reports whether the thread must begin the job's only I/O, and when that was due in an open loop. The
// thread has nothing in flight and has reached the end of its work. Only the last thread to do so begins one. Jobs that
// replay a log do exactly what is in it.
func (t *thread) mustBeginOne() (due int64, begin bool) {
	r := t.run
	if t.came || t.out || t.play != nil || r.stopped.Load() {
		return 0, false
	}
	r.draining.Lock()
	defer r.draining.Unlock()
	t.came = true
	if t.acct.any() || t.acct.after.at > 0 {
		return 0, false
	}
	if r.idle++; r.idle < len(r.threads) {
		return 0, false
	}
	if r.pace.open {
		if due = t.nextDue(); due >= r.last.Load() {
			return 0, false // No I/O was due in the window.
		}
		t.holding = false
	}
	t.resort = t.budget()
	return due, t.resort
}

// any reports whether the thread had reads or writes in the window.
func (a *account) any() bool {
	for op := range a.handed {
		if a.handed[op].ops > 0 || a.lat[op].Count() > 0 {
			return true
		}
	}
	return false
}

// beyond reports whether an operation began only after the window, and therefore doesn't count.
func (t *thread) beyond(sl *slot) bool {
	return sl.start > t.run.end.Load() && (!t.resort || sl.op == opSync)
}
