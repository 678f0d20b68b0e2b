package load

// A ceiling limits the rate of either the reads or the writes of a mixed job; the other kind runs as fast as the depth
// allows. The job's loop is closed. As in fio (rate_ddir in its io_u.c), the mix draws what comes next. If the limited
// kind is ahead of its rate, the other takes its turn. If it is behind, it may catch up when the mix draws it. So it
// exceeds neither its rate nor its share of the mix.
type ceiling struct {
	on bool
	op uint8 // opRead or opWrite
	of schedule
}

// newCeiling returns the ceiling that j sets with RateOnly.
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

// draw decides whether the thread's next I/O is a read or a write.
func (t *thread) draw(now int64) {
	g := &t.gen
	g.readShare = t.mix
	op := g.op()
	if op == t.run.ceiling.op && !t.allowed(now) {
		op ^= opRead ^ opWrite
	}
	g.readShare = [2]uint64{opRead: 1 << 32, opWrite: 0}[op]
}

// allowed reports whether the next I/O under the ceiling may start now, and if so advances the ceiling.
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
