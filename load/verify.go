package load

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"
)

// The stamp of Job.Verify is at the start of each unit of what is written, little-endian:
//
//	 0  8  offset in the file
//	 8  8  number of the write: the thread in the upper 24 bits, its count in the lower 40
//	16  8  the job's RandSeed
//	24  4  bytes of the unit
//	28  4  CRC-32C (Castagnoli) of the unit without these four bytes
const sealSize = 32

// Bounds of a unit: the smallest block of a device, and stampEvery.
const (
	leastUnit = 512
	mostUnit  = stampEvery
)

var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// isUnit reports whether n is a valid distance of stamps, in bytes.
func isUnit(n int64) bool { return n >= leastUnit && n <= mostUnit && n&(n-1) == 0 }

// VerifyUnit returns the unit that Verify stamps: the largest size in bytes, up to 4096, that divides every I/O of j. 0
// without Verify.
func (j Job) VerifyUnit() int64 {
	if !j.Verify {
		return 0
	}
	if j.StampUnit > 0 {
		return j.StampUnit
	}
	all := j.BS | j.Offset | j.BlockAlign | j.OffsetIncrement | j.StartIncrement | j.RWNumber
	if j.random() {
		all &^= j.RWNumber
	}
	for _, s := range j.ReadSplit {
		all |= s.Size
	}
	for _, s := range j.WriteSplit {
		all |= s.Size
	}
	return min(all&-all, mostUnit)
}

// A VerifyError says that a block is not what Verify wrote there.
type VerifyError struct {
	Path string
	// Offset and Size locate the bad unit, in bytes.
	Offset, Size int64
	// Found describes the data found instead.
	Found string
}

// Error implements error.
func (e *VerifyError) Error() string {
	return fmt.Sprintf("%s: verify: the %d bytes at offset %d: %s", e.Path, e.Size, e.Offset, e.Found)
}

func sum(unit []byte) uint32 {
	return crc32.Update(crc32.Checksum(unit[:sealSize-4], castagnoli()), castagnoli(), unit[sealSize:])
}

// seal stamps each unit of p, the data of write number seq at off.
func (b *buffers) seal(p []byte, off int64, seq uint64) {
	for at := int64(0); at < int64(len(p)); at += b.unit {
		u := p[at:][:b.unit]
		binary.LittleEndian.PutUint64(u, uint64(off+at))
		binary.LittleEndian.PutUint64(u[8:], seq)
		binary.LittleEndian.PutUint64(u[16:], b.run)
		binary.LittleEndian.PutUint32(u[24:], uint32(b.unit))
		binary.LittleEndian.PutUint32(u[28:], sum(u))
	}
}

// verify checks the stamps of what the slot read.
func (t *thread) verify(sl *slot) error {
	b := t.bufs
	p := b.data(sl.seg, int64(sl.size))
	if b.only != nil {
		if at := unlike(p, b.only); at >= 0 {
			return &VerifyError{Path: t.run.job.path(int(sl.file)), Offset: sl.off, Size: int64(sl.size), Found: fmt.Sprintf("byte %d is %02x where the pattern has %02x", at, p[at], b.only[at%len(b.only)])}
		}
		return nil
	}
	for at := int64(0); at < int64(len(p)); at += b.unit {
		if found := b.check(p[at:][:b.unit], sl.off+at); found != "" {
			return &VerifyError{Path: t.run.job.path(int(sl.file)), Offset: sl.off + at, Size: b.unit, Found: found}
		}
	}
	return nil
}

// unlike returns the index of the first byte of p that differs from the repeated pattern, or -1.
func unlike(p, pattern []byte) int {
	for i, c := range p {
		if c != pattern[i%len(pattern)] {
			return i
		}
	}
	return -1
}

// check reports what is wrong with a unit that was read at off, or "" if nothing is.
func (b *buffers) check(u []byte, off int64) string {
	has, want := binary.LittleEndian.Uint32(u[28:]), sum(u)
	at, seq, run := int64(binary.LittleEndian.Uint64(u)), binary.LittleEndian.Uint64(u[8:]), binary.LittleEndian.Uint64(u[16:])
	size := int64(binary.LittleEndian.Uint32(u[24:]))
	switch {
	case has == want && at == off && run == b.run && size == b.unit:
		return ""
	case allZero(u):
		return "only zeros: nothing was written there, or it was lost"
	case has == want && at != off:
		return fmt.Sprintf("the block of offset %d, write %s", at, writeName(seq))
	case has == want && run != b.run:
		return fmt.Sprintf("a block of another run (randseed %d, not %d)", run, b.run)
	case at == off && size == b.unit:
		return fmt.Sprintf("damaged: write %s, its checksum is %08x but the data gives %08x", writeName(seq), has, want)
	case size != b.unit && isUnit(size) && at <= off && at+mostUnit > off:
		return fmt.Sprintf("stamped in blocks of %d bytes, which a job with other block sizes wrote; verify with those", size)
	}
	return fmt.Sprintf("no stamp: it begins with % x", u[:16])
}

func allZero(p []byte) bool {
	for _, b := range p {
		if b != 0 {
			return false
		}
	}
	return true
}

// writeName names a write by its number.
func writeName(seq uint64) string {
	return fmt.Sprintf("%d of thread %d", seq&(1<<40-1), seq>>40)
}
