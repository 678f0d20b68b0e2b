package load

import (
	"encoding/binary"
	"fmt"
	"iter"
)

// A Written is one write of a job, as identified by its stamp.
type Written struct {
	// Thread did the write; it was its Number-th, from 1 on.
	Thread int
	Number int64
	// Offset and Size are where it went and how long it was, in bytes.
	Offset, Size int64
}

// Recall yields the writes that a thread of j does in a file of size bytes, in order and without end. So the number of
// writes alone tells what a killed job has done. j must be a job that only writes, with one thread for each of the
// NumJobs: not psync with a depth above 1.
func (j Job) Recall(thread int, size int64) iter.Seq[Written] {
	j = j.WithDefaults()
	if j.RandSeed == 0 {
		j.RandSeed = defaultSeed
	}
	if j.Size > 0 {
		size = j.Size
	} else {
		size -= j.Offset
	}
	return func(yield func(Written) bool) {
		g := newLanes(j, size, false)[thread].generator(j, thread)
		// The thread draws the seed of its buffers before its first write.
		g.rand()
		var sl slot
		for n := int64(1); ; n++ {
			g.next(&sl)
			if !yield(Written{thread, n, sl.off, int64(sl.size)}) {
				return
			}
		}
	}
}

// Look checks p, read at off of a file that j wrote with Verify. It returns the write that p is of, or in found what is
// wrong with p.
func (j Job) Look(p []byte, off int64) (w Written, found string) {
	b := buffers{unit: j.WithDefaults().VerifyUnit(), run: j.RandSeed}
	if b.run == 0 {
		b.run = defaultSeed
	}
	if b.unit == 0 || len(p) == 0 || int64(len(p))%b.unit != 0 {
		return w, fmt.Sprintf("%d bytes are no whole number of stamped units of %d", len(p), b.unit)
	}
	first := binary.LittleEndian.Uint64(p[8:])
	for at := int64(0); at < int64(len(p)); at += b.unit {
		u := p[at:][:b.unit]
		if found := b.check(u, off+at); found != "" {
			return w, fmt.Sprintf("at offset %d: %s", off+at, found)
		}
		if seq := binary.LittleEndian.Uint64(u[8:]); seq != first {
			return w, fmt.Sprintf("torn: it begins with write %s, and at offset %d is write %s", writeName(first), off+at, writeName(seq))
		}
	}
	return Written{int(first >> 40), int64(first & (1<<40 - 1)), off, int64(len(p))}, ""
}
