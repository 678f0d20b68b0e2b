package load

import (
	"math"
	"math/bits"
	"sync/atomic"
)

// A lane is one of the job's NumJobs. Its threads (one, or as many as its depth
// with psync) share its cursor, its budget and its schedule.
type lane struct {
	base   int64
	blocks uint64
	cursor [2]cursor
	// budget is how many measured I/Os are left to take up; unlimited if it
	// started at MaxInt64.
	budget atomic.Int64
	// ticket numbers the I/Os of an open loop.
	ticket atomic.Int64
	shared bool
}

// newLanes cuts the job's region of size bytes into lanes. Random jobs with a runtime
// all use the whole region; others have a slice each, so that no block is done twice.
func newLanes(j Job, size int64, shared bool) []*lane {
	blocks := uint64(size / j.BS)
	n := uint64(j.NumJobs)
	lanes := make([]*lane, n)
	for i := range uint64(len(lanes)) {
		l := &lane{base: j.Offset, blocks: blocks, shared: shared}
		if !j.random() || j.Runtime == 0 {
			first := i * blocks / n
			l.base += int64(first) * j.BS
			l.blocks = (i+1)*blocks/n - first
		}
		l.budget.Store(l.limit(j))
		lanes[i] = l
	}
	return lanes
}

// limit is how many measured I/Os the lane does at most.
func (l *lane) limit(j Job) int64 {
	switch {
	case j.NumberIOs > 0:
		return j.NumberIOs
	case j.Runtime > 0:
		return math.MaxInt64
	}
	return int64(l.blocks)
}

// take takes one I/O off the budget and reports whether there was one.
func (l *lane) take() bool {
	if l.budget.Load() <= 0 {
		return false
	}
	return l.budget.Add(-1) >= 0
}

// due is when I/O number k of an open loop should start, from the start of the
// run, in nanoseconds. The schedule is linear and has no rounding that adds up:
// fio's counts in whole microseconds.
func due(k, rate int64) int64 {
	hi, lo := bits.Mul64(uint64(k), 1e9)
	if hi >= uint64(rate) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(rate))
	return int64(min(q, math.MaxInt64))
}

// generator returns the generator of thread number n of the job.
func (l *lane) generator(j Job, n int) generator {
	g := generator{
		base: l.base, bs: j.BS, blocks: l.blocks,
		random: j.random(), cursor: &l.cursor, shared: l.shared,
		rng: j.RandSeed + uint64(n)*0x9e3779b97f4a7c15,
	}
	switch {
	case j.mixed():
		mix := 50
		if j.RWMixRead != nil {
			mix = *j.RWMixRead
		}
		g.readShare = uint64(mix) << 32 / 100
	case j.reads():
		g.readShare = 1 << 32
	}
	if g.random && j.Runtime == 0 {
		g.pass = newPermutation(l.blocks, j.RandSeed)
	}
	// Neighbouring seeds give neighbouring first numbers.
	g.rand()
	return g
}
