package load

import (
	"math"
	"testing"
	"time"
)

func TestPermutationVisitsEachOnce(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 5, 64, 100, 1000, 4097, 65536, 100003} {
		p := newPermutation(n, 0x123456789abcdef)
		seen := make([]bool, n)
		inOrder := 0
		for i := range n {
			v := p.at(i)
			if v >= n || seen[v] {
				t.Fatalf("n=%d: %d comes twice or is out of range", n, v)
			}
			seen[v] = true
			if v == i {
				inOrder++
			}
		}
		if n >= 1000 && inOrder > 20 {
			t.Errorf("n=%d: %d numbers stay in place", n, inOrder)
		}
	}
}

// draw returns the operation and the offset of g's next I/O.
func draw(g *generator) (op uint8, off int64) {
	var sl slot
	g.next(&sl)
	return sl.op, sl.off
}

func TestRandomOffsetsAreUniform(t *testing.T) {
	j := Job{RW: RandRead, BS: 4096, NumJobs: 1, Runtime: time.Second, Offset: 8192, RandSeed: 7}
	l := newLanes(j, 100*4096, false)[0]
	g := l.generator(j, 0)
	var seen [100]int
	const n = 100000
	for range n {
		op, off := draw(&g)
		if op != opRead {
			t.Fatalf("the operation is %d, want a read", op)
		}
		if off < 8192 || (off-8192)%4096 != 0 || off >= 8192+100*4096 {
			t.Fatalf("offset %d is not of the region's blocks", off)
		}
		seen[(off-8192)/4096]++
	}
	// Chi-squared with 99 degrees of freedom; 0.9999 quantile 161.
	var chi float64
	for _, k := range seen {
		chi += float64(k-n/100) * float64(k-n/100) / (n / 100)
	}
	if chi > 161 {
		t.Errorf("chi squared = %v: not uniform", chi)
	}
}

func TestMixedShare(t *testing.T) {
	for _, mix := range []int{0, 1, 30, 50, 100} {
		j := Job{RW: RandRW, BS: 4096, NumJobs: 1, Runtime: time.Second, RWMixRead: &mix}
		g := newLanes(j, 1<<20, false)[0].generator(j, 3)
		reads := 0
		const n = 100000
		for range n {
			if op, _ := draw(&g); op == opRead {
				reads++
			}
		}
		if got := 100 * float64(reads) / n; math.Abs(got-float64(mix)) > 1 || (mix%100 == 0 && got != float64(mix)) {
			t.Errorf("rwmixread=%d gave %v %% reads", mix, got)
		}
	}
}

func TestLanesCutTheRegion(t *testing.T) {
	for _, rw := range []string{Read, RandRead} {
		j := Job{RW: rw, BS: 1000, NumJobs: 3, Offset: 500}
		seen := map[int64]int{}
		for i, l := range newLanes(j, 10*1000+999, false) {
			g := l.generator(j, i)
			for l.take() {
				_, off := draw(&g)
				seen[off]++
			}
		}
		for b := range int64(10) {
			if seen[500+b*1000] != 1 {
				t.Errorf("rw=%s: block %d done %d times, want once", rw, b, seen[500+b*1000])
			}
		}
		if len(seen) != 10 {
			t.Errorf("rw=%s: %d offsets, want 10", rw, len(seen))
		}
	}
}

func TestDueHasNoDrift(t *testing.T) {
	for _, v := range []struct{ k, rate, want int64 }{
		{0, 3, 0}, {1, 3, 333333333}, {3, 3, 1e9}, {600000 * 3600, 600000, 3600e9}, {1, 1e9, 1},
		{math.MaxInt64, 1, math.MaxInt64},
	} {
		if got := due(v.k, v.rate); got != v.want {
			t.Errorf("due(%d, %d) = %d, want %d", v.k, v.rate, got, v.want)
		}
	}
}

func TestClockFollowsMonotonicTime(t *testing.T) {
	c := newClock()
	t0, m0 := c.now(), time.Now()
	time.Sleep(50 * time.Millisecond)
	t1, m1 := c.now(), time.Since(m0)
	// The readings are taken one after the other; a preempted test may be late once.
	if d := time.Duration(t1-t0) - m1; t1 <= t0 || d > m1 || d < -m1/2 {
		t.Errorf("%s clock: %v passed, want about %v", c.source(), time.Duration(t1-t0), m1)
	}
	slow := clock{base: time.Now()}
	if a, b := slow.now(), slow.now(); a < 0 || b < a || slow.source() != "monotonic" {
		t.Errorf("fallback clock goes from %d to %d (%s)", a, b, slow.source())
	}
}

func BenchmarkGeneratorRandom(b *testing.B) {
	j := Job{RW: RandRead, BS: 4096, NumJobs: 1, Runtime: time.Second}
	g := newLanes(j, 1<<30, false)[0].generator(j, 0)
	var sl slot
	for b.Loop() {
		g.next(&sl)
	}
}

func BenchmarkGeneratorPass(b *testing.B) {
	j := Job{RW: RandRead, BS: 4096, NumJobs: 1}
	g := newLanes(j, 1<<30, false)[0].generator(j, 0)
	var sl slot
	for b.Loop() {
		g.next(&sl)
	}
}

func BenchmarkClock(b *testing.B) {
	c := newClock()
	for b.Loop() {
		c.now()
	}
}

func BenchmarkFillRandom1MiB(b *testing.B) {
	p := make([]byte, 1<<20)
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		fillRandom(p, 1)
	}
}

// TestOnePassOfMixedSequential: without an end of its own rw does as many I/Os as there are blocks; reads and
// writes both walk from the start, so that what lies behind is touched by neither.
func TestOnePassOfMixedSequential(t *testing.T) {
	const blocks = 1000
	j := Job{RW: RW, BS: 1000, NumJobs: 1}.WithDefaults()
	l := newLanes(j, blocks*1000, false)[0]
	g := l.generator(j, 0)
	var next [2]int64
	n := 0
	for l.take() {
		op, off := draw(&g)
		if off != next[op]*1000 {
			t.Fatalf("I/O %d is at %d, want %d", n, off, next[op]*1000)
		}
		next[op]++
		n++
	}
	if n != blocks || next[opRead] > blocks*6/10 || next[opWrite] > blocks*6/10 {
		t.Errorf("%d I/Os, %d reads and %d writes; want %d, half each", n, next[opRead], next[opWrite], blocks)
	}
}
