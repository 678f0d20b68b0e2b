package load

// A thread that gets no CPU during the whole of a window begins nothing in it. If no other does either, a window without an I/O
// would say nothing, though the storage works. So one I/O is begun in any case, unless one was in the cool-down: the window lasts until the
// first has ended (see stretch), and its result is a slow job.

// lastResort reports whether the thread, which has nothing in flight and comes to the end of its work, has to begin the job's
// only I/O, and when that was due in an open loop. Only the last thread to come there does. Jobs that replay a log do what it has and no more.
func (t *thread) lastResort() (due int64, begin bool) {
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

// beyond reports whether an operation was begun only after the window, and doesn't count for that.
func (t *thread) beyond(sl *slot) bool {
	return sl.start > t.run.end.Load() && (!t.resort || sl.op == opSync)
}
