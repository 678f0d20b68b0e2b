package load

import (
	"encoding/binary"
	"unsafe"
)

// stampEvery is the distance of the stamps in written data, in bytes. No two writes of a run share a unit of this size,
// so deduplication finds nothing.
const stampEvery = 4096

// pageSize is the alignment of buffers. It suffices for direct I/O on any current device.
const pageSize = 4096

// poolSize is the minimum size of the random data that the writes of a lane cycle through. It is eight times the window
// of the compressors of btrfs and ZFS at 128 KiB records, so they find no repetition, and small enough to stay in a
// CPU's cache.
const poolSize = 1 << 20

// maxSourceMemory is the most memory, in bytes, that a thread's segments may take so that DataSource is written in
// full: 1 MiB of it in blocks of 512 bytes, each in a page of its own.
const maxSourceMemory = 8 << 20

// buffers is the memory of one thread: a read buffer per slot, and segments of random data for writes. A write takes
// the segment that has been unused for longest, stamps it, and returns it on completion, so no data is copied. The
// memory is outside Go's heap.
type buffers struct {
	mem    []byte
	stride int64
	reads  int // read buffers come first
	// ring holds the free segments, oldest at head.
	ring       []uint32
	head, tail uint32
	// plain means that all writes carry the same data, so nothing is stamped.
	plain bool
	// dedupe is the percentage of writes that are segment dup, which is never stamped.
	dedupe uint64
	dup    uint32
	// set is what copies are taken from. nil: from dup.
	set *copies
	// unit is the size that Verify stamps, 0 without Verify; run is the run's part of the stamp. If only is set, it is
	// the pattern to check for instead of stamps.
	unit int64
	only []byte
	run  uint64
	// refill is Job.Refill; "" keeps the data in the segments. zeros is how much of each stampEvery bytes is left zero
	// (Job.Compress).
	refill string
	zeros  int
	seed   uint64
	pad    []byte // Job.Pattern, if it takes the place of those zeros
}

// newBuffers allocates the memory for depth I/Os of job j. share is the number of threads that share a lane's pool.
func newBuffers(j Job, depth, share int, seed uint64) (*buffers, error) {
	b := &buffers{
		stride: (j.maxBlock() + pageSize - 1) &^ (pageSize - 1), plain: j.plain(),
		dedupe: uint64(j.Dedupe), set: newCopies(j.DedupeSet, j.RandSeed), unit: j.VerifyUnit(), run: j.RandSeed,
		refill: j.Refill, zeros: stampEvery * j.Compress / 100, seed: seed, pad: j.Pattern,
	}
	if j.PatternOnly {
		b.only = j.Pattern
	}
	if j.Reads() || j.VerifyBacklog > 0 {
		b.reads = depth
	}
	segs := 0
	if j.writes() {
		segs = max(depth+1, int(poolSize/int64(share)/b.stride))
		switch {
		case j.Data == DataFixed || j.Peer != "":
			segs = depth
		case j.Data == DataSource:
			// The whole source is written, unless the blocks are so small that it takes too much memory.
			most := j.maxBlock()
			segs = max(depth+1, int(min((int64(len(j.Pattern))+most-1)/most, maxSourceMemory/b.stride)))
		}
	}
	extra := 0
	if b.dedupe > 0 && segs > 0 {
		extra = 1
	}
	take := mapMemory
	switch {
	case j.LargePages:
		take = mapLarge
	case j.Peer != "":
		// The first block of a copy is slower, because the kernel allocates its buffer then. In dd bs=1G count=1 it is
		// the only block.
		take = mapUntouched
	}
	mem, err := take(int64(b.reads+segs+extra) * b.stride)
	if err != nil {
		return nil, err
	}
	b.mem = mem
	// One place stays empty so that head == tail means none.
	b.ring = make([]uint32, segs+1)
	for i := range segs {
		b.ring[i] = uint32(b.reads + i)
	}
	b.tail, b.dup = uint32(segs), uint32(b.reads+segs)
	if j.Peer == "" {
		b.content(j, mem[int64(b.reads)*b.stride:], seed)
	}
	return b, nil
}

// content fills the segments with the data to write.
func (b *buffers) content(j Job, p []byte, seed uint64) {
	switch j.Data {
	case DataZero:
		clear(p)
		return
	case DataPattern:
		for ; len(p) > 0; p = p[min(b.stride, int64(len(p))):] {
			for s := p[:b.stride]; len(s) > 0; {
				s = s[copy(s, j.Pattern):]
			}
		}
		return
	case DataSource:
		for at := 0; len(p) > 0; p = p[min(b.stride, int64(len(p))):] {
			for s := p[:j.maxBlock()]; len(s) > 0; {
				n := copy(s, j.Pattern[at:])
				s, at = s[n:], (at+n)%len(j.Pattern)
			}
		}
		return
	}
	b.random(p, seed)
	if b.dedupe > 0 && len(p) > 0 {
		// The same for all threads, and for all runs with the same seed.
		b.random(p[int64(len(p))-b.stride:], j.RandSeed)
	}
}

// random fills p with random data and, with Job.Compress, zeros.
func (b *buffers) random(p []byte, seed uint64) {
	if b.zeros == 0 {
		fillRandom(p, seed)
		return
	}
	for seeds := (generator{rng: seed}); len(p) > 0; p = p[min(stampEvery, len(p)):] {
		s := p[:min(stampEvery, len(p))]
		n := max(len(s)-b.zeros, 0)
		fillRandom(s[:n], seeds.rand())
		s = s[n:]
		clear(s)
		for len(b.pad) > 0 && len(s) > 0 {
			s = s[copy(s, b.pad):]
		}
	}
}

// anew takes a segment and fills it with the data of write number seq. Copies are regenerated each time too.
func (b *buffers) anew(from *generator, copied bool, size int64, seq uint64) uint32 {
	s := b.takeSegment()
	// Consecutive numbers make poor seeds: the generator itself counts, so two writes would share data.
	g := generator{rng: b.seed ^ seq}
	seed := g.rand()
	switch {
	case copied && b.set != nil:
		seed = b.set.draw(from)
	case b.set != nil:
		seed = b.set.next()
	case copied:
		seed = b.run
	}
	b.random(b.data(s, size), seed)
	return s
}

// fill takes a segment and prepares it as the data of write number seq, size bytes at off.
func (b *buffers) fill(g *generator, size, off int64, seq uint64) uint32 {
	copied := b.dedupe > 0 && g.below(100) < b.dedupe
	var s uint32
	switch {
	case b.refill != "":
		if s = b.anew(g, copied, size, seq); copied || b.set != nil {
			return s
		}
	case copied:
		return b.dup
	default:
		s = b.takeSegment()
	}
	switch {
	case b.plain:
	case b.unit > 0:
		b.seal(b.data(s, size), off, seq)
	default:
		stamp(b.data(s, size), off, seq)
	}
	return s
}

// data returns the first size bytes of buffer i.
func (b *buffers) data(i uint32, size int64) []byte { return b.mem[int64(i)*b.stride:][:size] }

func (b *buffers) addr(i uint32) uintptr {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b.mem))) + uintptr(int64(i)*b.stride)
}

// takeSegment returns a free segment. There are at least as many segments as slots.
func (b *buffers) takeSegment() uint32 {
	s := b.ring[b.head]
	b.head++
	if int(b.head) == len(b.ring) {
		b.head = 0
	}
	return s
}

func (b *buffers) giveSegment(s uint32) {
	if s == b.dup && b.dedupe > 0 {
		return
	}
	b.ring[b.tail] = s
	b.tail++
	if int(b.tail) == len(b.ring) {
		b.tail = 0
	}
}

// stamp makes p unique: each unit begins with its offset in the file and the number
// of the write.
func stamp(p []byte, off int64, seq uint64) {
	for at := 0; at+16 <= len(p); at += stampEvery {
		binary.LittleEndian.PutUint64(p[at:], uint64(off)+uint64(at))
		binary.LittleEndian.PutUint64(p[at+8:], seq)
	}
}

func (b *buffers) close() error {
	mem := b.mem
	b.mem = nil
	return unmapMemory(mem)
}

// fillRandom fills p with incompressible data, at several GB/s.
func fillRandom(p []byte, seed uint64) {
	g := generator{rng: seed}
	for len(p) >= 8 {
		binary.LittleEndian.PutUint64(p, g.rand())
		p = p[8:]
	}
	for i, r := 0, g.rand(); i < len(p); i++ {
		p[i] = byte(r >> (8 * i))
	}
}
