package load

import (
	"slices"
	"testing"
)

// TestThreadsHaveTheirOwnOrder: threads that visit each block of one region once do so in different orders, as fio's clones do. In
// the same order all would want the same block at a time, and the cache would have it for all but the first.
func TestThreadsHaveTheirOwnOrder(t *testing.T) {
	const blocks = 256
	for _, j := range []Job{
		{RW: RandRead, BS: 4096, NumJobs: 2, RandomMap: true, Runtime: 1, RandSeed: 5},
		{RW: RandRead, BS: 4096, NumJobs: 2, WholeRegion: true, RandSeed: 5},
		{RW: RandRead, BS: 4096, NumJobs: 2, OffsetIncrement: blocks * 4096, RandSeed: 5},
	} {
		var orders [2][]int64
		for i, l := range newLanes(j, blocks*4096, false) {
			g := l.generator(j, i)
			for range blocks {
				var s slot
				g.next(&s)
				orders[i] = append(orders[i], s.off-l.base)
			}
			once := slices.Compact(slices.Sorted(slices.Values(orders[i])))
			if len(once) != blocks {
				t.Errorf("%+v: thread %d visits %d of %d blocks", j, i, len(once), blocks)
			}
		}
		alike := 0
		for k := range blocks {
			if orders[0][k] == orders[1][k] {
				alike++
			}
		}
		if alike > blocks/8 { // By chance one block is in the same place.
			t.Errorf("%+v: %d of %d visits are to one block at a time", j, alike, blocks)
		}
	}
}

// TestNoRandomMap: a job with as many I/Os as a pass, whose offsets repeat.
func TestNoRandomMap(t *testing.T) {
	const blocks = 4096
	j := Job{RW: RandRead, BS: 4096, NumJobs: 1, NoRandomMap: true, RandSeed: 5}
	l := newLanes(j, blocks*4096, false)[0]
	g := l.generator(j, 0)
	seen := map[int64]bool{}
	n := 0
	for ; l.take(); n++ {
		var s slot
		g.next(&s)
		seen[s.off] = true
	}
	// 1-1/e of the blocks are drawn: 2589, with a standard deviation of about 20.
	if n != blocks || len(seen) < 2400 || len(seen) > 2800 {
		t.Errorf("%d I/Os to %d of %d blocks", n, len(seen), blocks)
	}
}
