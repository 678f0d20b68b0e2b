package load

import (
	"math/bits"
	"sync/atomic"
)

// A generator decides each next I/O. It belongs to one thread, but the threads of one psync job share a cursor, so that
// together they walk the file once.
//
// Random offsets are uniform over the blocks of the region, with replacement: one block may come twice before another
// comes once. This is fio's norandommap; by default fio keeps a map of the blocks and visits each once per pass. With
// RandomMap, or without a runtime, each block is visited exactly once per pass, in a permuted order that is computed
// without a map.
type generator struct {
	rng    uint64
	base   int64  // offset of the region's first block
	bs     int64  //
	blocks uint64 // in the region
	// readShare is the probability of a read, times 2^32.
	readShare uint64
	random    bool
	pass      permutation // of the blocks, if bits != 0
	cursor    *cursors
	shared    bool // cursor belongs to several threads
	// room is the maximum size of the next I/O in bytes, if one of its sizes fits.
	room int64
	// pairs: each write goes to the block of the trim before it. half holds that trim; its size is 0 if the next I/O is
	// a trim.
	pairs bool
	half  wrote
	// listed are the I/Os of a job that reads Only parts of its files; nil without such a list.
	listed []wrote
	// vary holds what the job asks for beyond blocks of one size in one file; nil if nothing.
	vary *variety
}

// cursors are the cursors of a file: the position of its reads, the position of its writes, in blocks or in bytes, and the
// number of visits of a pass (passVisits).
type cursors [3]cursor

// passVisits is the cursor that numbers the visits of random blocks; it is not a position.
const passVisits = 2

// A cursor counts: in own if it belongs to one thread, because an atomic addition costs 20 cycles; otherwise in n. Each
// has its own cache line.
type cursor struct {
	n   atomic.Uint64
	own uint64
	_   [48]byte
}

func (c *cursor) next(shared bool) uint64 { return c.add(1, shared) }

// add adds d and returns the count before it.
func (c *cursor) add(d uint64, shared bool) uint64 {
	if shared {
		return c.n.Add(d) - d
	}
	c.own += d
	return c.own - d
}

// wyrand, by Wang Yi: one multiplication per number, and it passes BigCrush. https://github.com/wangyi-fudan/wyhash
func (g *generator) rand() uint64 {
	g.rng += 0xa0761d6478bd642f
	hi, lo := bits.Mul64(g.rng, g.rng^0xe7037ed1a0b428db)
	return hi ^ lo
}

// below returns a number from 0 to n-1.
func (g *generator) below(n uint64) uint64 {
	hi, _ := bits.Mul64(g.rand(), n)
	return hi
}

// float returns a number in [0, 1).
func (g *generator) float() float64 { return float64(g.rand()>>11) * 0x1p-53 }

// op draws the operation.
func (g *generator) op() uint8 {
	r := uint64(0)
	if g.readShare-1 < 1<<32-1 { // neither 0 nor 1
		r = g.rand() >> 32
	}
	if r >= g.readShare {
		return opWrite
	}
	return opRead
}

// next fills in the next I/O: operation, file, offset and size.
func (g *generator) next(sl *slot) {
	if g.pairs {
		g.pair(sl)
		return
	}
	sl.op = g.op()
	g.place(sl)
}

// pair makes a trim, or the write that follows it.
func (g *generator) pair(sl *slot) {
	sl.op = opWrite
	if h := g.half; h.size > 0 {
		sl.off, sl.size, sl.file, g.half = h.off, h.size, h.file, wrote{}
		return
	}
	g.place(sl) // Sizes are those of writes.
	sl.op, g.half = opRead, wrote{sl.off, sl.size, sl.file}
}

// place fills in file, offset and size; the operation is already set.
func (g *generator) place(sl *slot) {
	if g.listed != nil {
		w := g.listed[int(g.cursor[sl.op].next(g.shared)%uint64(len(g.listed)))]
		sl.off, sl.size, sl.file = w.off, w.size, w.file
		return
	}
	if g.vary != nil {
		g.varied(sl)
		return
	}
	var n uint64
	switch {
	case g.random && g.pass.bits == 0:
		n = g.below(g.blocks)
	case g.random:
		n = g.pass.turn(g.cursor[passVisits].next(g.shared), g.blocks)
	default:
		// The reads and writes of rw=rw walk the file independently, as in fio.
		n = g.cursor[sl.op].next(g.shared)
		if n >= g.blocks {
			n %= g.blocks
		}
	}
	sl.off, sl.size = g.base+int64(n)*g.bs, g.bs
}

// A permutation maps 0..n-1 onto itself in an irregular order, without memory: a
// mixing function that is one-to-one on the next power of two is applied until the
// result is in range (cycle walking; Black and Rogaway, CT-RSA 2002).
type permutation struct {
	n    uint64
	bits uint // of the power of two; 0: no permutation
	key  uint64
}

func newPermutation(n, key uint64) permutation {
	return permutation{n: n, bits: uint(max(bits.Len64(n-1), 1)), key: key}
}

// turn returns the block that visit i goes to. n visits are a pass over all n blocks; each pass has a different order.
func (p *permutation) turn(i, n uint64) uint64 {
	if i < n {
		return p.at(i)
	}
	q := *p
	q.key += i / n * 0x9e3779b97f4a7c15
	return q.at(i % n)
}

func (p *permutation) at(i uint64) uint64 {
	for {
		i = p.mix(i)
		if i < p.n {
			return i
		}
	}
}

// mix is one-to-one on the numbers of p.bits bits, because additions, multiplications by odd numbers and xors with
// shifted copies all are.
func (p *permutation) mix(i uint64) uint64 {
	mask := uint64(1)<<p.bits - 1
	half := p.bits/2 + 1
	for r := range uint(3) {
		i = (i + p.key>>(8*r)) & mask
		i = i * 0x9e3779b97f4a7c15 & mask
		i ^= i >> half
		i = i * 0xd6e8feb86659fd93 & mask
		i ^= i >> half
	}
	return i
}
