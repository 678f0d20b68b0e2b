package load

// A wrote is one write that is to be read back.
type wrote struct {
	off, size int64
	file      uint16
}

// readBack is what a thread of a job with Verify and KeepWritten has written and not read back. The thread alone uses it.
type readBack struct {
	unit int64
	// open are the units of each file that were written since they were read back last.
	open []units
	// every and batch are Job.VerifyBacklog and Job.VerifyBacklogBatch, and left is how much of a batch is to come.
	every, batch, left int64
	// queue are the writes in their order, from head on; only with a backlog.
	queue []wrote
	head  int
	// fresh: the last I/O was a write.
	fresh bool
}

func newReadBack(j Job) *readBack {
	if !j.KeepWritten {
		return nil
	}
	b := &readBack{unit: j.VerifyUnit(), open: make([]units, j.fileCount()), every: j.VerifyBacklog, batch: j.VerifyBacklogBatch}
	if b.batch == 0 {
		b.batch = b.every
	}
	return b
}

// span are the units of an I/O.
func (b *readBack) span(off, size int64) (from, to int64) { return off / b.unit, (off + size) / b.unit }

// wrote notes a write that begins.
func (b *readBack) wrote(sl *slot) {
	from, to := b.span(sl.off, sl.size)
	b.open[sl.file].set(from, to)
	b.fresh = true
	if b.every > 0 {
		b.queue = append(b.queue, wrote{sl.off, sl.size, sl.file})
	}
}

// checked notes that what a slot read back was right.
func (b *readBack) checked(sl *slot) {
	from, to := b.span(sl.off, sl.size)
	b.open[sl.file].clear(from, to)
}

// unwritten notes that a slot wrote nothing, or not all of it, so that nothing of it is to be read back.
func (t *thread) unwritten(sl *slot) {
	if t.back != nil && sl.op == opWrite {
		t.back.checked(sl)
	}
}

// backDue takes the write that is to be read back now, if one is. As in fio that begins when a backlog of writes is full, and goes on
// for a batch, of which each waits until the write is complete; meanwhile the job goes on.
func (t *thread) backDue() (w wrote, ok bool) {
	if t.back == nil || t.back.every == 0 {
		return w, false
	}
	return t.nextBack()
}

// nextBack is backDue where writes are read back. The check that most jobs end with is inlined so.
func (t *thread) nextBack() (w wrote, ok bool) {
	b := t.back
	for b.head < len(b.queue) {
		if b.left == 0 {
			if int64(len(b.queue)-b.head)%b.every != 0 || !b.fresh {
				return w, false
			}
			b.left = b.batch
		}
		w = b.queue[b.head]
		from, to := b.span(w.off, w.size)
		// One that was overwritten is read once, after the last write.
		known := b.open[w.file].any(from, to) && !t.again(w)
		if known && t.writing(w) {
			return w, false
		}
		if b.head++; b.head > len(b.queue)/2 {
			b.queue = b.queue[:copy(b.queue, b.queue[b.head:])]
			b.head = 0
		}
		if known {
			b.left--
			return w, true
		}
	}
	return w, false
}

// same reports whether the slot's I/O is of the block of w, and touches whether it shares bytes with others.
func (sl *slot) same(w wrote) bool { return sl.file == w.file && sl.off == w.off && sl.size == w.size }
func (sl *slot) touches(file uint16, off, size int64) bool {
	return sl.file == file && sl.off < off+size && off < sl.off+sl.size
}

// again reports whether the block of w is being read back already.
func (t *thread) again(w wrote) bool {
	for i := range t.slots {
		if sl := &t.slots[i]; sl.is(backIO) && !sl.is(staleIO) && t.inFlight(uint32(i)) && sl.same(w) {
			return true
		}
	}
	return false
}

// writing reports whether a write that is in flight touches w.
func (t *thread) writing(w wrote) bool {
	for i := range t.slots {
		if sl := &t.slots[i]; sl.op == opWrite && t.inFlight(uint32(i)) && sl.touches(w.file, w.off, w.size) {
			return true
		}
	}
	return false
}

// outdate notes that what is being read back of the slot's block is being written meanwhile, so that it says nothing.
func (t *thread) outdate(w *slot) {
	for i := range t.slots {
		if sl := &t.slots[i]; sl.is(backIO) && t.inFlight(uint32(i)) && sl.touches(w.file, w.off, w.size) {
			sl.state |= staleIO
		}
	}
}

// armBack turns the free slot s into the read of w.
func (t *thread) armBack(s uint32, now int64, w wrote) {
	sl := &t.slots[s]
	sl.op, sl.file, sl.off, sl.size, sl.seg = opRead, w.file, w.off, w.size, s
	sl.start, sl.due, sl.done, sl.state = now, 0, 0, countedIO|backIO
	sl.buf = t.bufs.addr(s)
	t.lastSize = sl.size
	t.back.fresh = false
}

// judge verifies what a slot has read of stamped blocks, if that is to be.
func (t *thread) judge(sl *slot) error {
	switch {
	case sl.is(backIO):
		if sl.is(staleIO) {
			return nil
		}
		if t.run.engine != Null { // It reads nothing.
			if err := t.verify(sl); err != nil {
				return err
			}
		}
		t.back.checked(sl)
		return nil
	case t.checks:
		return t.verify(sl)
	}
	return nil
}

// written is what the threads wrote and did not read back, of each file.
func (r *Run) written() []Ranges {
	if !r.job.KeepWritten {
		return nil
	}
	all := make([]Ranges, r.job.fileCount())
	for i := range all {
		var u units
		for _, t := range r.threads {
			u.or(t.back.open[i])
		}
		all[i] = u.ranges(r.job.VerifyUnit())
	}
	return all
}

// blocks are the I/Os of a job that reads Only parts of its files.
func (j Job) onlyBlocks() (all []wrote) {
	for f, ranges := range j.Only {
		for _, r := range ranges {
			for at := int64(0); at < r.Size; at += j.BS {
				all = append(all, wrote{r.Offset + at, min(j.BS, r.Size-at), uint16(f)})
			}
		}
	}
	return all
}
