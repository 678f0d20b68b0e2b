package load

import (
	"math"
	"math/bits"
	"sync/atomic"
)

// A lane is one of the job's NumJobs. Its threads share its cursors, budget and schedule. It has one thread, or with
// psync as many as its depth.
type lane struct {
	base   int64
	size   int64 // of the region, in bytes
	blocks uint64
	// order makes the lane's order of random blocks differ from that of others in the same region.
	order uint64
	// cursors are the cursors of each file; with SharedCursor those of the first lane.
	cursors []cursors
	turns   *cursor
	// start is the position of the first I/O, in bytes from base.
	start int64
	// budget is the number of measured I/Os still to be taken up; it is unlimited if it started at MaxInt64. bytes is
	// the same in bytes.
	budget, bytes atomic.Int64
	// ticket is the position in the schedule of an open loop; tickets are the positions in those of reads and writes.
	// See pace.
	ticket atomic.Int64
	// shift is how far pauses have delayed the schedule, in ns.
	shift   atomic.Int64
	tickets tickets
	shared  bool
	listed  []wrote // of Job.Only
	walk    *fileWalk
}

// newLanes divides the job's region of size bytes into lanes. All lanes of a random job with a runtime use the whole
// region. In other jobs each lane has a slice, so that no block is done twice, unless the job says otherwise.
func newLanes(j Job, size int64, shared bool) []*lane {
	n := uint64(j.NumJobs)
	blocks := j.blocks(size)
	lanes := make([]*lane, n)
	for i := range n {
		l := &lane{base: j.Offset + int64(i)*j.OffsetIncrement, size: size, blocks: blocks, shared: shared || j.SharedCursor}
		if j.sliced() {
			unit := j.BS + j.sequentialGap()
			first, end := i*blocks/n, (i+1)*blocks/n
			l.base += int64(first) * unit
			l.blocks = end - first
			l.size = int64(l.blocks-1)*unit + j.BS
		} else {
			l.order = i * 0x9e3779b97f4a7c15 // Otherwise all lanes would be at the same block at the same time.
		}
		l.cursors, l.turns = make([]cursors, j.fileCount()), new(cursor)
		l.walk = newFileWalk(j)
		if j.SharedCursor && i > 0 {
			l.cursors, l.turns = lanes[0].cursors, lanes[0].turns
		}
		l.startAt(uint64(i) * uint64(j.StartIncrement))
		l.listed = j.onlyBlocks()
		l.budget.Store(l.limit(j))
		l.bytes.Store(l.limitBytes(j))
		lanes[i] = l
	}
	return lanes
}

// startAt sets the position of the lane's first I/Os, in bytes from its base.
func (l *lane) startAt(at uint64) {
	l.start = int64(at)
	if at == 0 {
		return
	}
	for i := range l.cursors {
		for op := range l.cursors[i][:passVisits] {
			l.cursors[i][op].own = at
			l.cursors[i][op].n.Store(at)
		}
	}
}

// sliced reports whether each lane has its own part of the region.
func (j Job) sliced() bool {
	if j.WholeRegion || j.OffsetIncrement != 0 || j.SharedCursor {
		return false
	}
	return j.NumJobs > 1 && (!j.random() || j.Runtime == 0)
}

// sequentialGap returns the number of bytes that a sequential pattern skips after each I/O.
func (j Job) sequentialGap() int64 {
	if j.random() {
		return 0
	}
	return max(j.RWNumber, 0)
}

// blocks returns the number of I/Os in a pass over size bytes; all but the tail have one size.
func (j Job) blocks(size int64) uint64 {
	if gap := j.sequentialGap(); gap > 0 {
		return uint64(max((size-j.BS)/(j.BS+gap)+1, 0))
	}
	n := size / j.BS
	if j.Tail && size%j.BS > 0 {
		n++
	}
	return uint64(n)
}

// split reports whether I/Os have several sizes.
func (j Job) split() bool { return len(j.ReadSplit) > 0 || len(j.WriteSplit) > 0 }

// fileCount is the number of the job's files.
func (j Job) fileCount() int { return max(len(j.Files), 1) }

// limit returns the maximum number of measured I/Os of the lane.
func (l *lane) limit(j Job) int64 {
	n := l.ends(j)
	if j.pairs() {
		n = times(n, 2) // A pair has two I/Os.
	}
	return n
}

// ends returns the number of I/Os that end the lane; a pair counts as one.
func (l *lane) ends(j Job) int64 {
	n := int64(math.MaxInt64)
	if j.NumberIOs > 0 {
		n = j.NumberIOs
	}
	if j.split() {
		return n
	}
	loops := max(j.Loops, 1)
	switch {
	case len(j.Script) > 0:
		n = math.MaxInt64
	case len(j.Only) > 0:
		n = min(n, int64(len(l.listed)))
	case j.IOSize > 0:
		n = min(n, times(max(j.IOSize/j.BS, 1), loops))
	case j.NumberIOs == 0 && j.Runtime == 0:
		n = times(l.blocksOfAll(j), loops)
	}
	return n
}

// limitBytes returns the maximum number of measured bytes of a lane whose I/Os have several sizes.
func (l *lane) limitBytes(j Job) int64 {
	loops := max(j.Loops, 1)
	switch {
	case !j.split():
	case j.IOSize > 0:
		return times(j.IOSize, loops)
	case j.NumberIOs == 0 && j.Runtime == 0:
		return times(l.bytesOfAll(j), loops)
	}
	return math.MaxInt64
}

// times returns a*b, or the greatest int64 if that overflows.
func times(a, b int64) int64 {
	if hi, lo := bits.Mul64(uint64(a), uint64(b)); hi == 0 && lo < math.MaxInt64 {
		return int64(lo)
	}
	return math.MaxInt64
}

// room returns the number of bytes left for an I/O that counts; an I/O that doesn't count may have any size.
func (l *lane) room(counted bool) int64 {
	if !counted {
		return math.MaxInt64
	}
	return l.bytes.Load()
}

// take takes one I/O off the budget and reports whether there was one.
func (l *lane) take() bool {
	if l.budget.Load() <= 0 || l.bytes.Load() <= 0 {
		return false
	}
	return l.budget.Add(-1) >= 0
}

// generator returns the generator of thread number n of the job.
func (l *lane) generator(j Job, n int) generator {
	g := generator{
		base: l.base, bs: j.BS, blocks: l.blocks,
		random: j.random(), cursor: &l.cursors[0], shared: l.shared,
		rng: j.RandSeed + uint64(n)*0x9e3779b97f4a7c15, room: math.MaxInt64, listed: l.listed, pairs: j.pairs(),
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
	if j.mapped() {
		g.pass = newPermutation(l.blocks, j.RandSeed+l.order)
	}
	g.vary = l.variety(j, g.pass.bits != 0)
	// Adjacent seeds give similar first numbers: skip the first.
	g.rand()
	return g
}

// variety returns what j asks for beyond the usual, or nil if nothing.
func (l *lane) variety(j Job, mapped bool) *variety {
	oneSize := !j.split() && j.BlockAlign == 0
	oneRegion := j.fileCount() == 1 && j.Zones == nil
	usual := j.RWNumber == 0 && !j.reordered() && !j.skewed()
	if oneSize && oneRegion && usual {
		return nil
	}
	v := &variety{
		sizes: [2]sizes{newSizes(j.BS, j.ReadSplit), newSizes(j.BS, j.WriteSplit)},
		size:  l.size, align: j.align(), random: [2]uint64{1 << 32, 1 << 32},
		files: uint64(j.fileCount()), service: j.FileService,
		one: j.OneSequence, alone: j.Parallel, tail: j.Tail,
		room: j.room(), turns: l.turns, perFile: max(l.blocks, 1), cursors: l.cursors,
	}
	if j.random() {
		v.run = j.RWNumber
		if (v.run > 1 || j.PercentageRandom != nil) && !v.one {
			v.at = make([][2]int64, j.fileCount())
		}
	} else {
		v.step = j.RWNumber
	}
	if p := j.PercentageRandom; p != nil {
		v.random = [2]uint64{uint64(*p) << 32 / 100, uint64(*p) << 32 / 100}
	}
	if p := j.PercentageRandomWrites; p != nil {
		v.random[opWrite] = uint64(*p) << 32 / 100
	}
	v.zones = newZoneWalk(j, l.size, mapped, j.RandSeed+l.order)
	v.dist = v.distribute(j, l.size)
	// Offsets that may repeat never finish a file, nor do gaps.
	if v.parts = l.parts(j, mapped, v); mapped || !j.random() && j.RWNumber == 0 {
		v.walk = l.walk
	}
	return v
}

// distribute returns how often the blocks of a region of size bytes are visited, or nil for the default.
func (v *variety) distribute(j Job, size int64) distribution {
	d, err := ParseDistribution(j.Distribution)
	if err != nil {
		return nil
	}
	n := uint64(max((size-min(v.sizes[0].max, v.sizes[1].max))/v.align+1, 1))
	return newDistribution(d, n, v.align, j.RandSeed)
}

// align returns the alignment of random offsets.
func (j Job) align() int64 {
	if j.BlockAlign > 0 {
		return j.BlockAlign
	}
	least := int64(math.MaxInt64)
	if j.reads() {
		least = min(least, newSizes(j.BS, j.ReadSplit).min())
	}
	if j.writes() {
		least = min(least, newSizes(j.BS, j.WriteSplit).min())
	}
	return least
}

// maxBlock returns the size of the largest I/O.
func (j Job) maxBlock() int64 {
	most := int64(0)
	if j.reads() {
		most = newSizes(j.BS, j.ReadSplit).max
	}
	if j.writes() {
		most = max(most, newSizes(j.BS, j.WriteSplit).max)
	}
	return most
}
