package load

import "slices"

// A variety is how a job's I/Os differ from blocks of one size, spread over one file. It belongs to one thread, except
// for turns and the cursors, which belong to its lane.
type variety struct {
	sizes   [2]sizes
	size    int64     // of the region, in bytes
	align   int64     // of random offsets
	step    int64     // of sequential offsets: what is skipped after each
	run     int64     // I/Os in sequence from each random offset, including the one there; 0: 1
	inRun   int64     // how many of those are done
	random  [2]uint64 // probability of a random offset for reads and for writes, times 2^32
	one     bool      // reads and writes form one sequence
	alone   bool      // each slot walks by itself
	tail    bool      // the last I/O may be a shorter rest
	begun   bool      // there was an I/O before
	last    uint8     // its operation
	dist    distribution
	files   uint64
	service string
	// turns numbers the I/Os, to choose their files; turn is the last number of this thread.
	turns   *cursor
	perFile uint64 // I/Os in one file before the next file, in sequential service
	cursors []cursors
	// at is where, in each file, the reads and writes go on that follow one at a random offset, in bytes; nil if none
	// do. It belongs to the thread, as its runs do.
	at [][2]int64
	// parts are what the job does in each file, nil if all are alike. walk says which file has the next turn, nil for
	// one file after another.
	parts []part
	room  int64 // see Job.room
	walk  *fileWalk
	// zones say which zone is next; nil without zones.
	zones *zoneWalk
}

// sizes draws the size of an I/O.
type sizes struct {
	one  int64    // if there is only one
	all  []int64  //
	upTo []uint64 // probability of this size or an earlier one, times 2^32
	max  int64
}

// min returns the smallest size.
func (s sizes) min() int64 {
	if s.one != 0 {
		return s.one
	}
	return slices.Min(s.all)
}

func newSizes(bs int64, split []SizeShare) sizes {
	if len(split) == 0 {
		return sizes{one: bs, max: bs}
	}
	s := sizes{}
	total, sum := 0.0, 0.0
	for _, e := range split {
		total += e.Percent
	}
	for _, e := range split {
		sum += e.Percent
		s.all = append(s.all, e.Size)
		s.upTo = append(s.upTo, uint64(sum/total*(1<<32)))
		s.max = max(s.max, e.Size)
	}
	s.upTo[len(s.upTo)-1] = 1 << 32
	if len(s.all) == 1 {
		s.one = s.all[0]
	}
	return s
}

// draw draws one of the sizes up to most, or the smallest if none fits.
func (s *sizes) draw(g *generator, most int64) int64 {
	if s.one != 0 {
		return s.one
	}
	// A size that doesn't fit is drawn again, as in fio. The smallest may be rare.
	for range 256 {
		r := g.rand() >> 32
		i, _ := slices.BinarySearch(s.upTo, r+1) // The first above r.
		if s.all[i] <= most {
			return s.all[i]
		}
	}
	return s.min()
}

// varied fills in the next I/O; the operation is already set.
func (g *generator) varied(sl *slot) {
	v := g.vary
	jump := v.isRandom(g, sl.op&1)
	if v.one {
		jump = jump || g.random && !v.begun
		if g.random && !jump {
			sl.op = v.last
		}
		v.last, v.begun = sl.op, true
	}
	sl.file = uint16(v.file(g))
	if v.parts != nil {
		g.enter(int(sl.file))
	}
	most := g.room
	if v.sizes[sl.op&1].one == 0 {
		most = min(most, v.rest(g, sl, jump))
	}
	size := v.sizes[sl.op&1].draw(g, most)
	sl.size = size
	if v.walk != nil {
		v.walk.took(int(sl.file), size)
	}
	if v.alone {
		if sl.walk+size > v.size {
			sl.walk = 0
		}
		sl.off = g.base + sl.walk
		sl.walk += size + v.step
		return
	}
	if v.zones != nil {
		sl.off = g.base + v.zones.next(g, sl, v.align)
		return
	}
	cur := &v.cursors[sl.file][sl.op&1]
	if v.one {
		cur = &v.cursors[sl.file][0]
	}
	if v.tail {
		size = min(size, v.size-int64(cur.own))
		sl.size = size
	}
	switch {
	case !jump && v.at == nil:
		sl.off = g.base + v.sequential(cur, size, g.shared)
		return
	case !jump:
		follow := &v.at[sl.file][sl.op&1]
		if *follow+size <= v.size {
			sl.off = g.base + *follow
			*follow += size
			return
		}
		// At the region's end a random offset replaces the one that would follow, as in fio.
	}
	var at int64
	switch n := uint64((v.size-size)/v.align + 1); {
	case v.dist != nil:
		at = int64(min(v.dist.next(g), n-1)) * v.align
	case g.pass.bits != 0:
		at = int64(g.pass.turn(v.cursors[sl.file][passVisits].next(g.shared), g.blocks)) * g.bs
	default:
		at = int64(g.below(n)) * v.align
	}
	sl.off = g.base + at
	switch {
	case v.at != nil:
		// Sequential I/O continues from here.
		v.at[sl.file][sl.op&1] = at + size
	case v.one && !g.shared:
		cur.own = uint64(at + size)
	case v.one:
		// So does the next I/O of the lane's other threads.
		cur.n.Store(uint64(at + size))
	}
}

// rest returns the number of bytes between the place where the next I/O follows the one before it and the region's end.
// If the next I/O does not follow, or begins anew at the region's end, any size fits.
func (v *variety) rest(g *generator, sl *slot, jump bool) int64 {
	at := int64(0)
	switch {
	case v.alone || jump || g.shared || v.step != 0:
	case v.at != nil:
		at = v.at[sl.file][sl.op&1]
	case v.one:
		at = int64(v.cursors[sl.file][0].own)
	default:
		at = int64(v.cursors[sl.file][sl.op&1].own)
	}
	if left := v.size - at; left >= v.sizes[sl.op&1].min() {
		return left
	}
	return v.size
}

// file chooses the file of the next I/O.
func (v *variety) file(g *generator) uint64 {
	switch {
	case v.files == 1:
		return 0
	case v.walk != nil:
		return uint64(v.walk.choose(g, v.service))
	case v.parts != nil:
		return v.roomy(g)
	}
	switch v.service {
	case Random:
		return g.below(v.files)
	case Sequential:
		return v.turns.next(g.shared) / v.perFile % v.files
	}
	return v.turns.next(g.shared) % v.files
}

// roomy chooses a file whose region has room for an I/O of either kind. The largest has.
func (v *variety) roomy(g *generator) uint64 {
	for {
		n := v.turns.next(g.shared)
		if v.service == Random {
			n = g.below(v.files)
		}
		if i := n % v.files; v.parts[i].size >= v.room {
			return i
		}
	}
}

// isRandom reports whether the next I/O of that operation goes to a random offset.
func (v *variety) isRandom(g *generator, op uint8) bool {
	if !g.random {
		return false
	}
	if v.run > 1 {
		first := v.inRun == 0
		v.inRun = (v.inRun + 1) % v.run
		return first
	}
	return v.random[op] > 1<<32-1 || g.rand()>>32 < v.random[op]
}

// sequential returns the next place for size bytes, from the region's start.
func (v *variety) sequential(c *cursor, size int64, shared bool) int64 {
	step := size + v.step
	if step < 0 {
		return v.backwards(c, size, -step, shared)
	}
	for range 2 {
		at := int64(c.add(uint64(step), shared))
		if !shared {
			if at+size > v.size {
				at, c.own = 0, uint64(step)
			}
			return at
		}
		// The threads share the count, and none may set it back: a round is as many steps as fit.
		round := max((v.size-size)/max(step, 1)+1, 1) * max(step, 1)
		if at %= round; at+size <= v.size {
			return at
		}
	}
	return 0
}

// backwards is sequential for a step to lower offsets.
func (v *variety) backwards(c *cursor, size, step int64, shared bool) int64 {
	steps := (v.size-size)/step + 1
	k := int64(c.add(1, shared)) % steps
	return v.size - size - k*step
}
