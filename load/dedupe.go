package load

// A DedupeSet is the set of blocks that a job's copies repeat (Job.Dedupe). Writes that are not copies form a stream of
// blocks. The set is the beginning of the job's own stream, or of the streams of several jobs, as in fio's dedupe.c.
type DedupeSet struct {
	// Blocks is the number of blocks in the set.
	Blocks int64 `json:"blocks"`
	// Number is the number of the job's own stream, and Of the number of streams in the set, each with as many blocks.
	// If Of is 0, the set has the job's own stream only.
	Number int64 `json:"number,omitempty"`
	Of     int64 `json:"of,omitempty"`
	// Seed is the seed of the streams; the jobs of one set share it. 0: the job's RandSeed.
	Seed uint64 `json:"seed,omitempty"`
}

// copies yields the blocks of a set, for one thread.
type copies struct {
	DedupeSet
	per   int64 // blocks of each stream
	fresh int64 // writes that were not copies
}

// newCopies returns nil for nil.
func newCopies(s *DedupeSet, seed uint64) *copies {
	if s == nil {
		return nil
	}
	c := &copies{DedupeSet: *s}
	c.Of = max(c.Of, 1)
	c.per = max(c.Blocks/c.Of, 1)
	if c.Seed == 0 {
		c.Seed = seed
	}
	return c
}

// draw chooses a block of the set, and returns its seed.
func (c *copies) draw(g *generator) uint64 {
	n := int64(g.below(uint64(c.Blocks)))
	return c.block((c.Number+n/c.per)%c.Of, n%c.per)
}

// next returns the seed of the next block of the job's own stream.
func (c *copies) next() uint64 {
	c.fresh++
	return c.block(c.Number, c.fresh-1)
}

// block returns the seed of block n of a stream.
func (c *copies) block(stream, n int64) uint64 {
	g := generator{rng: c.Seed ^ uint64(stream+1)*0xd6e8feb86659fd93}
	g.rng = g.rand() ^ uint64(n+1)*0x9e3779b97f4a7c15
	return g.rand()
}

// sound reports whether the set has a block to copy, and the job's own stream is one of its streams.
func (s *DedupeSet) sound() bool {
	return s.Blocks >= 1 && s.Of >= 0 && s.Number >= 0 && s.Number < max(s.Of, 1)
}
