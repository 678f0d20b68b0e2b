package load

// A wrote is one write that is to be read back.
type wrote struct {
	off, size int64
	file      uint16
}

// readBack records what a thread of a job with Verify and KeepWritten has written and not read back. Only the thread
// uses it.
type readBack struct {
	unit int64
	// open are the units of each file that were written and not read back since.
	open []units
	// every and batch are Job.VerifyBacklog and Job.VerifyBacklogBatch; left is how much of a batch remains.
	every, batch, left int64
	// queue holds the writes in order, from head on; only with a backlog.
	queue []wrote
	head  int
	// fresh means that the last I/O was a write.
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

// span returns the units of an I/O.
func (b *readBack) span(off, size int64) (from, to int64) { return off / b.unit, (off + size) / b.unit }

// wrote records a write that begins.
func (b *readBack) wrote(sl *slot) {
	from, to := b.span(sl.off, sl.size)
	b.open[sl.file].set(from, to)
	b.fresh = true
	if b.every > 0 {
		b.queue = append(b.queue, wrote{sl.off, sl.size, sl.file})
	}
}

// checked records that a slot read back the right data.
func (b *readBack) checked(sl *slot) {
	from, to := b.span(sl.off, sl.size)
	b.open[sl.file].clear(from, to)
}

// unwritten records that a slot's write failed or was incomplete, so that none of it is read back.
func (t *thread) unwritten(sl *slot) {
	if t.back != nil && sl.op == opWrite {
		t.back.checked(sl)
	}
}

// backDue returns the write to read back now, if there is one. As in fio, reading back begins when the backlog is full,
// and lasts for a batch. Each read of the batch waits until its write is complete; in the meantime the job goes on.
func (t *thread) backDue() (w wrote, ok bool) {
	if t.back == nil || t.back.every == 0 {
		return w, false
	}
	return t.nextBack()
}

// nextBack is backDue for jobs that read back. It is separate so that the check in backDue, where most jobs stop, is
// inlined.
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
		// A block that was overwritten is read once, after its last write.
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

// same reports whether the slot's I/O is of the block of w; touches reports whether it shares bytes with a block.
func (sl *slot) same(w wrote) bool { return sl.file == w.file && sl.off == w.off && sl.size == w.size }
func (sl *slot) touches(file uint16, off, size int64) bool {
	return sl.file == file && sl.off < off+size && off < sl.off+sl.size
}

// again reports whether the block of w is already being read back.
func (t *thread) again(w wrote) bool {
	for i := range t.slots {
		if sl := &t.slots[i]; sl.is(backIO) && !sl.is(staleIO) && t.inFlight(uint32(i)) && sl.same(w) {
			return true
		}
	}
	return false
}

// writing reports whether a write in flight touches w.
func (t *thread) writing(w wrote) bool {
	for i := range t.slots {
		if sl := &t.slots[i]; sl.op == opWrite && t.inFlight(uint32(i)) && sl.touches(w.file, w.off, w.size) {
			return true
		}
	}
	return false
}

// outdate marks the reads in flight of the slot's block: the block is being overwritten, so their data proves nothing.
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

// judge verifies the stamped blocks that a slot has read, unless the read is stale.
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

// written returns what the threads wrote and did not read back, for each file.
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

// onlyBlocks returns the I/Os of a job that reads Only parts of its files.
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
