package load

import "slices"

// A variety is how a job's I/Os differ from blocks of one size, all over one
// file. It belongs to one thread, but what is in turns and cursors to its lane.
type variety struct {
	sizes   [2]sizes
	size    int64  // of the region, in bytes
	align   int64  // of random offsets
	step    int64  // of sequential ones: what is left out after each
	run     int64  // I/Os in sequence after each random offset, with the one there; 0: 1
	inRun   int64  // how many of them are done
	random  uint64 // probability of a random offset, times 2^32
	one     bool   // reads and writes are one sequence
	alone   bool   // each slot walks by itself
	tail    bool   // the last I/O is what is left
	begun   bool   // there was an I/O before,
	last    uint8  // which was this operation
	dist    distribution
	files   uint64
	service string
	// turns numbers the I/Os, to choose their files; turn is the last of this thread.
	turns   *cursor
	perFile uint64 // I/Os of one file before the next one's, in sequential service
	cursors [][2]cursor
}

// sizes draws the size of an I/O.
type sizes struct {
	one  int64    // if there is only one
	all  []int64  //
	upTo []uint64 // the probability of the size or an earlier one, times 2^32
	max  int64
}

// min is the smallest size.
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

func (s *sizes) draw(g *generator) int64 {
	if s.one != 0 {
		return s.one
	}
	r := g.rand() >> 32
	for i, p := range s.upTo {
		if r < p {
			return s.all[i]
		}
	}
	return s.all[len(s.all)-1]
}

// varied fills in what I/O comes next; the operation is there already.
func (g *generator) varied(sl *slot) {
	v := g.vary
	jump := v.isRandom(g)
	if v.one {
		jump = jump || g.random && !v.begun
		if g.random && !jump {
			sl.op = v.last
		}
		v.last, v.begun = sl.op, true
	}
	size := v.sizes[sl.op&1].draw(g)
	sl.size = int32(size)
	sl.file = uint16(v.file(g))
	if v.alone {
		if sl.walk+size > v.size {
			sl.walk = 0
		}
		sl.off = g.base + sl.walk
		sl.walk += size + v.step
		return
	}
	cur := &v.cursors[sl.file][sl.op&1]
	if v.one {
		cur = &v.cursors[sl.file][0]
	}
	if v.tail {
		size = min(size, v.size-int64(cur.own))
		sl.size = int32(size)
	}
	if !jump {
		sl.off = g.base + v.sequential(cur, size, g.shared)
		return
	}
	var at int64
	switch n := uint64((v.size-size)/v.align + 1); {
	case v.dist != nil:
		at = int64(min(v.dist.next(g), n-1)) * v.align
	case g.pass.bits != 0:
		at = int64(g.pass.turn(v.cursors[sl.file][0].next(g.shared), g.blocks)) * g.bs
	default:
		at = int64(g.below(n)) * v.align
	}
	sl.off = g.base + at
	switch {
	case g.pass.bits != 0:
	case !g.shared:
		// What comes in sequence goes on from here.
		cur.own = uint64(at + size)
	case v.one:
		// So does what the other threads of the lane do next.
		cur.n.Store(uint64(at + size))
	}
}

// file chooses the file of the next I/O.
func (v *variety) file(g *generator) uint64 {
	if v.files == 1 {
		return 0
	}
	switch v.service {
	case Random:
		return g.below(v.files)
	case Sequential:
		return v.turns.next(g.shared) / v.perFile % v.files
	}
	return v.turns.next(g.shared) % v.files
}

// isRandom reports whether the next I/O goes to a random offset.
func (v *variety) isRandom(g *generator) bool {
	if !g.random {
		return false
	}
	if v.run > 1 {
		first := v.inRun == 0
		v.inRun = (v.inRun + 1) % v.run
		return first
	}
	return v.random > 1<<32-1 || g.rand()>>32 < v.random
}

// sequential returns the next place for size bytes from the region's start.
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
		// The threads share the count, which nobody may set back: a round is
		// as many steps as fit.
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
