package load

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"
)

// drawMany returns n I/Os of the first thread of j over size bytes.
func drawMany(t testing.TB, j Job, size int64, n int) []slot {
	t.Helper()
	j = j.WithDefaults()
	j.Filename, j.Size = "f", size
	if len(j.Files) > 0 {
		j.Filename = ""
	}
	if err := j.Validate(); err != nil {
		t.Fatal(err)
	}
	g := newLanes(j, size, false)[0].generator(j, 0)
	all := make([]slot, n)
	for i := range all {
		g.next(&all[i])
	}
	return all
}

func offsets(all []slot) []int64 {
	var o []int64
	for _, s := range all {
		o = append(o, s.off)
	}
	return o
}

func TestSequentialWays(t *testing.T) {
	for _, c := range []struct {
		name string
		job  Job
		size int64
		want []int64
	}{
		{"plain", Job{RW: Read, BS: 1024, Runtime: 1}, 4096, []int64{0, 1024, 2048, 3072, 0, 1024}},
		{"gap", Job{RW: Read, BS: 1024, RWNumber: 1024, Runtime: 1}, 5120, []int64{0, 2048, 4096, 0, 2048, 4096}},
		{"overlap", Job{RW: Write, BS: 1024, RWNumber: -512, Runtime: 1}, 2048, []int64{0, 512, 1024, 0, 512, 1024}},
		{"backwards", Job{RW: Read, BS: 1024, RWNumber: -2048, Runtime: 1}, 4096, []int64{3072, 2048, 1024, 0, 3072, 2048}},
		{"shared gap", Job{RW: Read, BS: 1024, RWNumber: 1024, SharedCursor: true, Runtime: 1}, 5120, []int64{0, 2048, 4096, 0, 2048, 4096}},
		{"same place", Job{RW: Write, BS: 1024, RWNumber: -1024, Runtime: 1}, 4096, []int64{0, 0, 0, 0, 0, 0}},
	} {
		if got := offsets(drawMany(t, c.job, c.size, len(c.want))); !slices.Equal(got, c.want) {
			t.Errorf("%s: offsets %v, want %v", c.name, got, c.want)
		}
	}
}

func TestSplitSharesAndAlignment(t *testing.T) {
	j := Job{RW: RandRead, Runtime: 1, ReadSplit: []SizeShare{{4096, 10}, {8192, 60}, {65536, 30}}}
	const n, size = 100000, 1<<20 + 4096
	seen := map[int32]int{}
	for _, s := range drawMany(t, j, size, n) {
		seen[int32(s.size)]++
		if s.off%4096 != 0 || s.off < 0 || s.off+int64(s.size) > size {
			t.Fatalf("I/O of %d at %d", s.size, s.off)
		}
	}
	for _, e := range j.ReadSplit {
		if got := 100 * float64(seen[int32(e.Size)]) / n; math.Abs(got-e.Percent) > 1 {
			t.Errorf("%d bytes: %v %%, want %v", e.Size, got, e.Percent)
		}
	}
	// A sequential job of several sizes continues where the I/O before it ended.
	j.RW = Read
	at := int64(0)
	for _, s := range drawMany(t, j, size, 1000) {
		if s.off != at && s.off != 0 {
			t.Fatalf("I/O at %d, want %d", s.off, at)
		}
		if at = s.off + int64(s.size); at > size {
			t.Fatalf("I/O ends at %d, beyond the region", at)
		}
	}
}

func TestRandomMapVisitsEachBlockOncePerPass(t *testing.T) {
	const blocks = 37
	all := offsets(drawMany(t, Job{RW: RandRead, BS: 512, RandomMap: true, Runtime: time.Second}, blocks*512, 3*blocks))
	var passes [][]int64
	for p := range slices.Chunk(all, blocks) {
		passes = append(passes, slices.Clone(p))
		slices.Sort(p)
		for i, off := range p {
			if off != int64(i)*512 {
				t.Fatalf("pass %d: block %d is at %d", len(passes), i, off)
			}
		}
	}
	if slices.Equal(passes[0], passes[1]) || slices.Equal(passes[1], passes[2]) {
		t.Error("two passes have the same order")
	}
}

func TestPercentageRandomAndRuns(t *testing.T) {
	follow := func(j Job) float64 {
		all, n := drawMany(t, j, 1<<30, 20000), 0
		for i := 1; i < len(all); i++ {
			if all[i].off == all[i-1].off+int64(all[i-1].size) {
				n++
			}
		}
		return 100 * float64(n) / float64(len(all)-1)
	}
	for _, share := range []int{0, 30, 100} {
		got := follow(Job{RW: RandRead, BS: 4096, PercentageRandom: &share, Runtime: time.Second})
		if math.Abs(got-float64(100-share)) > 2 {
			t.Errorf("percentage_random=%d: %v %% follow the I/O before them", share, got)
		}
	}
	if got := follow(Job{RW: RandRead, BS: 4096, RWNumber: 8, Runtime: time.Second}); math.Abs(got-87.5) > 0.5 {
		t.Errorf("randread:8: %v %% follow the I/O before them, want 87.5", got)
	}
}

// TestRunsBeginAtBlocksOfTheMap: with a map each run of sequential I/Os begins at a block that no run began at before, and continues
// from there. If the region has no room for the rest, the rest is another run. Reads and writes continue separately, and so do the
// threads of a lane.
func TestRunsBeginAtBlocksOfTheMap(t *testing.T) {
	const blocks = 256
	for _, rw := range []string{RandRead, RandRW} {
		begun, at := map[int64]bool{}, [2]int64{}
		for i, s := range drawMany(t, Job{RW: rw, BS: 4096, RWNumber: 8, RandomMap: true, Runtime: time.Second}, blocks*4096, 8*blocks) {
			first := i%8 == 0
			if s.off%4096 != 0 || s.off+4096 > blocks*4096 {
				t.Fatalf("%s: I/O %d is at %d", rw, i, s.off)
			}
			if !first && at[s.op]+4096 <= blocks*4096 && s.off != at[s.op] {
				t.Fatalf("%s: I/O %d is at %d, want %d", rw, i, s.off, at[s.op])
			}
			if at[s.op] = s.off + 4096; first {
				if begun[s.off] && len(begun) < blocks*7/10 {
					t.Fatalf("%s: a second run begins at %d, the %d. of all", rw, s.off, len(begun))
				}
				begun[s.off] = true
			}
		}
		if len(begun) < blocks*8/10 {
			t.Errorf("%s: %d runs begin at %d blocks", rw, blocks, len(begun))
		}
	}
	j := Job{RW: RandRead, BS: 4096, RWNumber: 4, IODepth: 2, RandomMap: true, Runtime: time.Second}
	l := newLanes(j.WithDefaults(), blocks*4096, true)[0]
	threads := [2]generator{l.generator(j, 0), l.generator(j, 1)}
	last := [2]int64{}
	for i := range 40 {
		for n := range threads {
			_, off := draw(&threads[n])
			if i%4 > 0 && last[n]+4096 < blocks*4096 && off != last[n]+4096 {
				t.Fatalf("thread %d: I/O %d is at %d, want %d", n, i, off, last[n]+4096)
			}
			last[n] = off
		}
	}
}

// TestBlockAlignLeavesNoMap: offsets at which blocks overlap or leave gaps are drawn with replacement, as in fio.
func TestBlockAlignLeavesNoMap(t *testing.T) {
	for _, c := range []struct{ bs, align int64 }{{4096, 16384}, {65536, 4096}} {
		seen := map[int64]bool{}
		for _, s := range drawMany(t, Job{RW: RandRead, BS: c.bs, BlockAlign: c.align}, 1<<20, 400) {
			if s.off%c.align != 0 || s.off+c.bs > 1<<20 {
				t.Fatalf("bs=%d blockalign=%d: an I/O at %d", c.bs, c.align, s.off)
			}
			seen[s.off%65536] = true
		}
		if want := int(65536 / c.align); len(seen) != want {
			t.Errorf("bs=%d blockalign=%d: %d places within 64 KiB, want %d", c.bs, c.align, len(seen), want)
		}
	}
	bad := Job{RW: RandRead, BS: 4096, BlockAlign: 16384, RandomMap: true, Runtime: time.Second, Filename: "f"}
	var opt *OptionError
	if err := bad.Validate(); !errors.As(err, &opt) || opt.Option != "random_map" {
		t.Errorf("a map of blocks that are aligned to more than their size: %v", err)
	}
	bad.BlockAlign = 4096
	if err := bad.Validate(); err != nil {
		t.Error(err)
	}
}

func TestFileService(t *testing.T) {
	files := []string{"a", "b", "c"}
	pick := func(service string, n int) (got []uint16, offs []int64) {
		for _, s := range drawMany(t, Job{RW: Read, BS: 512, Files: files, FileService: service, Runtime: time.Second}, 1024, n) {
			got, offs = append(got, s.file), append(offs, s.off)
		}
		return got, offs
	}
	if got, offs := pick("", 6); !slices.Equal(got, []uint16{0, 1, 2, 0, 1, 2}) || !slices.Equal(offs, []int64{0, 0, 0, 512, 512, 512}) {
		t.Errorf("round robin: files %v at %v", got, offs)
	}
	if got, offs := pick(Sequential, 6); !slices.Equal(got, []uint16{0, 0, 1, 1, 2, 2}) || !slices.Equal(offs, []int64{0, 512, 0, 512, 0, 512}) {
		t.Errorf("sequential: files %v at %v", got, offs)
	}
	var seen [3]int
	got, _ := pick(Random, 3000)
	for _, f := range got {
		seen[f]++
	}
	if slices.Min(seen[:]) < 850 {
		t.Errorf("random: files were chosen %v times", seen)
	}
}

func TestLanesOfTheWholeRegion(t *testing.T) {
	j := Job{RW: Read, BS: 1024, NumJobs: 2, WholeRegion: true}
	lanes := newLanes(j, 8192, false)
	for i, l := range lanes {
		g := l.generator(j, i)
		if _, off := draw(&g); off != 0 || l.blocks != 8 || l.budget.Load() != 8 {
			t.Errorf("lane %d starts at %d and does %d of %d blocks", i, off, l.budget.Load(), l.blocks)
		}
	}
	j = Job{RW: Read, BS: 1024, NumJobs: 2, OffsetIncrement: 4096, IOSize: 2048, Loops: 3}
	for i, l := range newLanes(j, 8192, false) {
		g := l.generator(j, i)
		if _, off := draw(&g); off != int64(i)*4096 || l.budget.Load() != 6 {
			t.Errorf("lane %d starts at %d and does %d blocks", i, off, l.budget.Load())
		}
	}
	// One position for all threads: together they walk the region once a pass.
	j = Job{RW: Read, BS: 1024, NumJobs: 2, SharedCursor: true, Runtime: time.Second}
	lanes = newLanes(j, 8192, false)
	g0, g1 := lanes[0].generator(j, 0), lanes[1].generator(j, 1)
	for i := range 4 {
		_, a := draw(&g0)
		_, b := draw(&g1)
		if a != int64(2*i)*1024 || b != int64(2*i+1)*1024 {
			t.Fatalf("shared position: %d and %d in turn %d", a, b, i)
		}
	}
}

func TestBlockSizes(t *testing.T) {
	ten := 10
	for _, row := range []struct {
		job               Job
		least, mean, most int64
	}{
		{Job{RW: Read}, 4096, 4096, 4096},
		{Job{RW: RandWrite, BS: 512}, 512, 512, 512},
		{Job{RW: Read, ReadSplit: []SizeShare{{4096, 75}, {65536, 25}}}, 4096, 19456, 65536},
		{Job{RW: Write, BS: 1, ReadSplit: []SizeShare{{4096, 100}}, WriteSplit: []SizeShare{{1024, 50}, {512, 50}}}, 512, 768, 1024},
		{Job{RW: RandRW, RWMixRead: &ten, BS: 1000, ReadSplit: []SizeShare{{100, 1}}}, 100, 910, 1000},
		{Job{RW: RandRW}, 4096, 4096, 4096},
		// Three reads come for each write.
		{Job{RW: RandRW, RateIOPS: 300, WriteRateIOPS: 100, WriteSplit: []SizeShare{{8192, 100}}}, 4096, 5120, 8192},
		{Job{RW: RandRW, Rate: 3 << 20, WriteRate: 2 << 20, WriteSplit: []SizeShare{{8192, 100}}}, 4096, 5120, 8192},
	} {
		if least, mean, most := row.job.BlockSizes(); least != row.least || mean != row.mean || most != row.most {
			t.Errorf("%+v: BlockSizes = %d, %d, %d, want %d, %d, %d", row.job, least, mean, most, row.least, row.mean, row.most)
		}
	}
}

func TestOffered(t *testing.T) {
	for _, row := range []struct {
		job  Job
		want float64
	}{
		{Job{RW: RandRead}, 0},
		{Job{RW: RandRead, RateIOPS: 100, NumJobs: 3}, 300},
		{Job{RW: RandRW, RateIOPS: 100, WriteRateIOPS: 50, NumJobs: 2}, 300},
		{Job{RW: RandRead, Rate: 1 << 20, BS: 8192}, 128},
		{Job{RW: RandRW, Rate: 1 << 20, WriteRate: 1 << 20, BS: 4096, WriteSplit: []SizeShare{{16384, 100}}}, 256 + 64},
	} {
		if got := row.job.Offered(); got != row.want {
			t.Errorf("%+v: Offered = %v, want %v", row.job, got, row.want)
		}
	}
}
