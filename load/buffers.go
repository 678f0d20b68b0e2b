package load

import (
	"encoding/binary"
	"unsafe"
)

// stampEvery is how often written data is stamped, in bytes. No two writes of a
// run have a unit of this size in common, so that deduplication finds nothing.
const stampEvery = 4096

// pageSize aligns buffers: enough for direct I/O on any device of today.
const pageSize = 4096

// poolSize is the least size of the random data that a lane's writes cycle
// through: eight times the window of btrfs' and ZFS' compressors at 128 KiB records, so that
// they find no repetition, and little enough to stay in a CPU's cache.
const poolSize = 1 << 20

// buffers is the memory of one thread: a read buffer for each slot, and segments
// of random data for writes. A write takes the segment that was unused
// for the longest time, stamps it, and gives it back when it is complete, so no data is
// copied. The memory is outside of Go's heap.
type buffers struct {
	mem    []byte
	stride int64
	reads  int // read buffers come first
	// ring holds the free segments, oldest at head.
	ring       []uint32
	head, tail uint32
}

// newBuffers makes the memory for depth I/Os of job j. share is how many threads
// share a lane's pool.
func newBuffers(j Job, depth, share int, seed uint64) (*buffers, error) {
	b := &buffers{stride: (j.BS + pageSize - 1) &^ (pageSize - 1)}
	if j.reads() {
		b.reads = depth
	}
	segs := 0
	if j.writes() {
		segs = max(depth+1, int(poolSize/int64(share)/b.stride))
	}
	mem, err := mapMemory(int64(b.reads+segs) * b.stride)
	if err != nil {
		return nil, err
	}
	b.mem = mem
	// One place stays empty, so that head equal to tail means none.
	b.ring = make([]uint32, segs+1)
	for i := range segs {
		b.ring[i] = uint32(b.reads + i)
	}
	b.tail = uint32(segs)
	fillRandom(mem[int64(b.reads)*b.stride:], seed)
	return b, nil
}

func (b *buffers) addr(i uint32) uintptr {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b.mem))) + uintptr(int64(i)*b.stride)
}

// takeSegment returns a free segment. There is one more than slots.
func (b *buffers) takeSegment() uint32 {
	s := b.ring[b.head]
	b.head++
	if int(b.head) == len(b.ring) {
		b.head = 0
	}
	return s
}

func (b *buffers) giveSegment(s uint32) {
	b.ring[b.tail] = s
	b.tail++
	if int(b.tail) == len(b.ring) {
		b.tail = 0
	}
}

// stamp makes the bs bytes of segment s unique: each unit begins with its
// offset in the file and the number of the write.
func (b *buffers) stamp(s uint32, bs, off int64, seq uint64) {
	stamp(b.mem[int64(s)*b.stride:][:bs], off, seq)
}

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

// fillRandom fills p with data that can't be compressed, at several GB/s.
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
