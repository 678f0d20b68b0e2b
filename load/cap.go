package load

// A ceiling holds the reads or the writes of a mixed job to a rate, while the others go on as fast as the depth
// allows: the job's loop is closed. The mix draws what comes next, as in fio (rate_ddir in its io_u.c): what
// is ahead of its rate gives way to the other, and what is behind may catch up when the mix draws it, so
// that it does no more than its rate and no more than its share of the mix.
type ceiling struct {
	on bool
	op uint8 // opRead or opWrite
	of schedule
}

// newCeiling returns the ceiling that j asks for with RateOnly.
func newCeiling(j Job) ceiling {
	c := ceiling{on: j.RateOnly != "", of: schedule{j.RateIOPS, 1}}
	split := j.ReadSplit
	if j.RateOnly == "write" {
		c.op, split = opWrite, j.WriteSplit
	}
	if j.Rate > 0 {
		c.of = schedule{j.Rate, int64(meanSize(j.BS, split))}
	}
	return c
}

// draw settles whether the thread's next I/O is a read or a write.
func (t *thread) draw(now int64) {
	g := &t.gen
	g.readShare = t.mix
	op := g.op()
	if op == t.run.ceiling.op && !t.allowed(now) {
		op ^= opRead ^ opWrite
	}
	g.readShare = [2]uint64{opRead: 1 << 32, opWrite: 0}[op]
}

// allowed reports whether the time of the next I/O under the ceiling has come, and takes it then.
func (t *thread) allowed(now int64) bool {
	c, k := &t.run.ceiling, &t.lane.tickets
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.begun {
		k.begun = true
		t.advance(k, c.of, int(c.op), c.of.weight, true)
	}
	if k.time[c.op]/tick > now-t.run.start-t.lane.shift.Load() {
		return false
	}
	t.advance(k, c.of, int(c.op), c.of.weight, false)
	return true
}
