package load

import (
	"math"
	"math/bits"
	"slices"
	"sync"
)

// A part is what a job with Sizes does in one of its files.
type part struct {
	size   int64 // of the region there, in bytes
	blocks uint64
	pass   permutation
	dist   distribution
}

// A fileWalk is how the threads of a lane go through files whose regions differ. Each file takes turns until all of its
// region is done. When all files are done, the next pass begins, as in fio.
type fileWalk struct {
	mu    sync.Mutex
	sizes []int64
	// least is the smallest I/O. A region without room for it gets no turn.
	least int64
	// left is what remains to be done in each file in this pass, in bytes; at is the file whose turn was last.
	left []int64
	at   int
}

// newFileWalk returns nil for a job whose files have regions of the same size.
func newFileWalk(j Job) *fileWalk {
	if len(j.Sizes) == 0 {
		return nil
	}
	return &fileWalk{sizes: j.Sizes, least: j.room(), left: slices.Clone(j.Sizes), at: -1}
}

// room returns how much of a region must be left for the smallest I/O to fit, whether it is a read or a write.
func (j Job) room() (least int64) {
	if j.reads() {
		least = newSizes(j.BS, j.ReadSplit).min()
	}
	if j.writes() {
		least = max(least, newSizes(j.BS, j.WriteSplit).min())
	}
	return least
}

// choose returns the file of the next I/O.
func (w *fileWalk) choose(g *generator, service string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.left)
	first := w.at + 1
	switch service {
	case Random:
		first = int(g.below(uint64(n)))
	case Sequential:
		first = max(w.at, 0)
	}
	for range 2 {
		for k := range n {
			if i := (first + k) % n; w.left[i] >= w.least {
				w.at = i
				return i
			}
		}
		copy(w.left, w.sizes)
		if service == Sequential {
			first = 0
		}
	}
	return 0 // Not reached: the largest region has room for every size.
}

// took subtracts an I/O from what remains in its file.
func (w *fileWalk) took(file int, size int64) {
	w.mu.Lock()
	w.left[file] -= size
	w.mu.Unlock()
}

// parts returns what j does in each of its files, or nil without Sizes.
func (l *lane) parts(j Job, mapped bool, v *variety) []part {
	var all []part
	for i, size := range j.Sizes {
		p := part{size: size, blocks: j.blocks(size)}
		if mapped && p.blocks > 0 {
			p.pass = newPermutation(p.blocks, j.RandSeed+l.order+uint64(i)*0xd6e8feb86659fd93)
		}
		p.dist = v.distribute(j, size)
		all = append(all, p)
	}
	return all
}

// enter switches the generator to one of the files with a region of its own.
func (g *generator) enter(file int) {
	v := g.vary
	p := &v.parts[file]
	v.size, v.dist, g.blocks, g.pass = p.size, p.dist, p.blocks, p.pass
}

// blocksOfAll returns the number of I/Os of one size in a pass over all files.
func (l *lane) blocksOfAll(j Job) int64 {
	if len(j.Sizes) == 0 {
		return times(int64(l.blocks), int64(j.fileCount()))
	}
	n := int64(0)
	for _, size := range j.Sizes {
		n += int64(j.blocks(size))
	}
	return n
}

// bytesOfAll returns the number of bytes in the regions of all files.
func (l *lane) bytesOfAll(j Job) int64 {
	if len(j.Sizes) == 0 {
		return times(l.size, int64(j.fileCount()))
	}
	n := int64(0)
	for _, size := range j.Sizes {
		n += size
	}
	return n
}

// sizeOf returns the length of the region of a file; size is the largest.
func (j Job) sizeOf(file int, size int64) int64 {
	if len(j.Sizes) > file {
		return j.Sizes[file]
	}
	return size
}

// parts checks the regions of files.
func (v *validator) parts(j Job) {
	if len(j.Sizes) == 0 {
		return
	}
	switch {
	case len(j.Sizes) != len(j.Files):
		v.add("sizes", len(j.Sizes), "one for each of the %d files", len(j.Files))
	case slices.Min(j.Sizes) < 0 || slices.Max(j.Sizes) != j.Size || slices.Max(j.Sizes) > maxTrim*1024:
		v.add("sizes", slices.Max(j.Sizes), "none is below 0, and size is the longest")
	case j.NumJobs > 1 || j.reordered() || j.Zones != nil, len(j.Script) > 0, j.Append || j.Fill:
		v.add("sizes", j.Size, "contradicts another way through the region")
	}
}

// Share returns p percent of the bytes in a pass over the files' regions, in whole blocks if all I/Os have one size.
func (j Job) Share(p int) int64 {
	n := int64(0)
	for i := range max(len(j.Sizes), 1) {
		size := j.sizeOf(i, j.Size)
		if !j.split() {
			size = size / j.BS * j.BS
		}
		n += size
	}
	hi, lo := bits.Mul64(uint64(n), uint64(p))
	if hi >= 100 {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, 100)
	return int64(min(q, math.MaxInt64))
}
