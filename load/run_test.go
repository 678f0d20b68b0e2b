package load

import (
	"context"
	"errors"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// realEngines are the engines that do I/O here.
func realEngines() []string {
	if runtime.GOOS == "linux" {
		return []string{IOUring, LinuxAIO, PSync}
	}
	return []string{PSync}
}

// needEngine skips the test if an engine doesn't work.
func needEngine(t testing.TB, name string) {
	t.Helper()
	for _, p := range ProbeEngines(t.TempDir()) {
		if p.Engine == name && !p.OK {
			t.Skipf("needs %s: %s", name, p.Reason)
		}
	}
}

func TestOnePassWritesEachBlockInPlace(t *testing.T) {
	for _, engine := range realEngines() {
		for _, rw := range []string{Write, RandWrite} {
			for _, depth := range []int{1, 7} {
				for _, direct := range []bool{false, runtime.GOOS == "linux"} {
					t.Run(engine+"/"+rw, func(t *testing.T) {
						needEngine(t, engine)
						const bs, blocks = 8192, 333
						path := zeros(t, t.TempDir(), bs*(blocks+2))
						res := start(t, Job{RW: rw, BS: bs, IODepth: depth, NumJobs: 2, Filename: path, Offset: bs, Size: bs * blocks, IOEngine: engine, Direct: direct})
						if len(res.Classes) != 1 {
							t.Errorf("classes = %+v, want writes only", res.Classes)
						}
						c := res.Class("write")
						if got, want := [...]int64{c.Ops, c.Bytes, int64(c.Lat.Count())}, [...]int64{blocks, bs * blocks, blocks}; got != want {
							t.Errorf("writes, bytes and latencies are %d, want %d", got, want)
						}
						got := stamps(t, path, bs)
						for i, off := range got {
							want := int64(i) * bs
							if i == 0 || i == blocks+1 {
								want = 0 // outside of the region
							}
							if off != want {
								t.Fatalf("block %d is stamped %d, want %d", i, off, want)
							}
						}
						// The second unit of a block has a stamp of its own.
						if units := stamps(t, path, stampEvery); units[3] != 3*stampEvery {
							t.Errorf("unit 3 is stamped %d", units[3])
						}
					})
				}
			}
		}
	}
}

func TestReadsOnePass(t *testing.T) {
	path := written(t, 1<<20)
	for _, engine := range realEngines() {
		t.Run(engine, func(t *testing.T) {
			needEngine(t, engine)
			res := start(t, Job{RW: RandRead, IODepth: 5, Filename: path, IOEngine: engine})
			if c := res.Class("read"); c == nil || c.Ops != 256 || c.Bytes != 1<<20 {
				t.Errorf("classes = %+v, want 256 reads", res.Classes)
			}
			if res.Elapsed <= 0 || res.Elapsed != res.LastDone || res.FirstDone > res.LastDone {
				t.Errorf("elapsed %v, first %v, last %v", res.Elapsed, res.FirstDone, res.LastDone)
			}
			if res.Engine != engine {
				t.Errorf("engine = %s, want %s", res.Engine, engine)
			}
		})
	}
}

func TestNumberIOsIsExact(t *testing.T) {
	path := written(t, 1<<20)
	for _, engine := range realEngines() {
		t.Run(engine, func(t *testing.T) {
			needEngine(t, engine)
			for _, runtime := range []time.Duration{0, time.Minute} {
				res := start(t, Job{RW: RandRW, IODepth: 4, NumJobs: 2, NumberIOs: 1001, Runtime: runtime, Filename: path, IOEngine: engine})
				if res.Ops() != 2002 {
					t.Errorf("runtime %v: %d I/Os, want 2002", runtime, res.Ops())
				}
				if res.Elapsed > 50*time.Second {
					t.Errorf("runtime %v: elapsed %v is not when the last I/O was done", runtime, res.Elapsed)
				}
			}
		})
	}
}

func TestMixedJobHasBothClasses(t *testing.T) {
	path := written(t, 1<<20)
	res := start(t, Job{RW: RandRW, NumberIOs: 4000, Filename: path, IODepth: 3})
	r, w := res.Class("read"), res.Class("write")
	if r == nil || w == nil {
		t.Fatalf("classes = %+v, want reads and writes", res.Classes)
	}
	if n := r.Ops + w.Ops; n != 4000 {
		t.Errorf("%d I/Os, want 4000", n)
	}
	if math.Abs(float64(r.Ops)-2000) > 300 {
		t.Errorf("%d reads, want about 2000", r.Ops)
	}
}

func TestSyncsAreAClassOfTheirOwn(t *testing.T) {
	for _, engine := range realEngines() {
		t.Run(engine, func(t *testing.T) {
			needEngine(t, engine)
			path := zeros(t, t.TempDir(), 64*4096)
			res := start(t, Job{RW: Write, FDataSync: 8, EndFsync: true, IODepth: 4, Filename: path, IOEngine: engine})
			want := int64(8 + 1)
			if engine == PSync {
				// Each of the four threads counts its own writes; the scheduler decides how many each does.
				want = res.Class("sync").Ops
				if want < 5 || want > 9 {
					t.Errorf("%d syncs, want 5 to 9", want)
				}
			}
			c := res.Class("sync")
			if c == nil || c.Ops != want || c.Bytes != 0 {
				t.Errorf("syncs = %+v, want %d of no bytes", c, want)
			}
			if n := res.Class("write").Ops; n != 64 {
				t.Errorf("%d writes, want 64", n)
			}
		})
	}
}

func TestTimedWindow(t *testing.T) {
	path := written(t, 1<<20)
	var edges []bool
	r := prepare(t, Job{RW: RandRead, Filename: path, RampTime: 50 * time.Millisecond, Runtime: 1200 * time.Millisecond})
	r.OnWindow = func(begin bool) { edges = append(edges, begin) }
	var seen []Sample
	res, err := r.Start(context.Background(), func(s Sample) { seen = append(seen, s) })
	if err != nil {
		t.Fatal(err)
	}
	// If a busy machine made the first reading slow, it is repeated.
	if edges = slices.Compact(edges); len(edges) != 2 || !edges[0] || edges[1] {
		t.Errorf("OnWindow was called with %v, want true, false", edges)
	}
	if res.Elapsed != 1200*time.Millisecond {
		t.Errorf("elapsed = %v, want exactly the runtime", res.Elapsed)
	}
	var ops, bytes int64
	for _, s := range res.Samples {
		ops += s.Ops
		bytes += s.Bytes
	}
	if c := res.Class("read"); ops != c.Ops || bytes != c.Bytes || int64(c.Lat.Count()) != c.Ops+c.InFlight {
		t.Errorf("samples hold %d I/Os and %d bytes, the class %d and %d", ops, bytes, c.Ops, c.Bytes)
	}
	if len(seen) != len(res.Samples) || len(seen) < 1 || seen[len(seen)-1].At != res.Elapsed {
		t.Errorf("samples = %v, of which %d were told", res.Samples, len(seen))
	}
	if runtime.GOOS == "linux" && (res.Usage.User+res.Usage.System <= 0 || res.Usage.MaxRSS <= 0) {
		t.Errorf("usage = %+v", res.Usage)
	}
	if started := r.threads[0].acct.started; started <= res.Ops() {
		t.Errorf("%d I/Os started, %d counted: those of the ramp must not count", started, res.Ops())
	}
	if _, err := r.Start(context.Background(), nil); err == nil {
		t.Error("a second Start was accepted")
	}
}

func TestCancelKeepsWhatWasMeasured(t *testing.T) {
	path := written(t, 1<<20)
	for _, engine := range append(realEngines(), Null) {
		t.Run(engine, func(t *testing.T) {
			needEngine(t, engine)
			ctx, cancel := context.WithCancelCause(context.Background())
			r := prepare(t, Job{RW: RandRead, IODepth: 2, Filename: path, Size: 1 << 20, Runtime: time.Hour, IOEngine: engine})
			why := errors.New("enough")
			res, err := r.Start(ctx, func(Sample) { cancel(why) })
			if !errors.Is(err, why) {
				t.Errorf("error = %v, want the cause of the cancellation", err)
			}
			if res.Ops() == 0 || res.Elapsed <= 0 || res.Elapsed > time.Minute {
				t.Errorf("%d I/Os in %v", res.Ops(), res.Elapsed)
			}
		})
	}
}

func TestCancelInRamp(t *testing.T) {
	path := written(t, 1<<20)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	res, err := prepare(t, Job{RW: Read, Filename: path, RampTime: time.Hour, Runtime: time.Hour}).Start(ctx, nil)
	if !errors.Is(err, context.Canceled) || res.Ops() != 0 || res.Elapsed != 0 {
		t.Errorf("Start = %+v, %v", res, err)
	}
}

func TestOpenLoop(t *testing.T) {
	path := written(t, 1<<20)
	for _, engine := range append(realEngines(), Null) {
		t.Run(engine, func(t *testing.T) {
			needEngine(t, engine)
			res := start(t, Job{RW: RandRead, IODepth: 4, RateIOPS: 500, Filename: path, Size: 1 << 20, Runtime: time.Second, IOEngine: engine})
			c := res.Class("read")
			// Never more than the schedule has; less only by the I/Os that were missed or left in flight.
			if n := c.Ops + res.InFlight() + res.Missed; c.Ops > 501 || n < 499 {
				t.Errorf("%d I/Os, %d unfinished, %d missed: want 500 together", c.Ops, res.InFlight(), res.Missed)
			}
			if c.Response == nil || int64(c.Response.Count()) != c.Ops+c.InFlight || c.Response.Sum() < c.Lat.Sum() {
				t.Errorf("response times = %+v", c.Response)
			}
		})
	}
}

func TestPrepareLeavesNothingBehind(t *testing.T) {
	path := written(t, 1<<20)
	procs := runtime.GOMAXPROCS(0)
	before := descriptors(t)
	for _, engine := range realEngines() {
		for range 3 {
			r, err := Prepare(Job{RW: RandRW, IODepth: 8, NumJobs: 2, Filename: path, IOEngine: engine})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(r.Close(), r.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d file descriptors before, %d after", before, after)
	}
	if n := runtime.GOMAXPROCS(0); n != procs {
		t.Errorf("GOMAXPROCS is %d, was %d", n, procs)
	}
}

func TestMissingFileAndSmallRegion(t *testing.T) {
	if _, err := Prepare(Job{RW: Read, Filename: t.TempDir() + "/none"}); err == nil || !strings.Contains(err.Error(), "/none") {
		t.Errorf("missing file: %v", err)
	}
	if _, err := Prepare(Job{RW: Read, Filename: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "regular file") {
		t.Errorf("folder: %v", err)
	}
	if _, err := Prepare(Job{RW: Read, Filename: os.DevNull}); err == nil {
		t.Error("the null device was accepted")
	}
	path := written(t, 8192)
	if _, err := Prepare(Job{RW: Write, Filename: path, Offset: 8000}); err == nil || !strings.Contains(err.Error(), "less than one block") {
		t.Errorf("region without a block: %v", err)
	}
	var u *UnwrittenError
	if _, err := Prepare(Job{RW: Read, Filename: path, Size: 16384}); !errors.As(err, &u) || u.FileSize != 8192 {
		t.Errorf("region beyond the end: %v", err)
	}
}

// TestHotLoopDoesNotAllocate counts the process' allocations between the edges of
// the window: samples and usage need some, I/Os none.
func TestHotLoopDoesNotAllocate(t *testing.T) {
	path := written(t, 1<<20)
	for _, engine := range append(realEngines(), Null) {
		for _, rate := range []int64{0, 20000} {
			t.Run(engine, func(t *testing.T) {
				needEngine(t, engine)
				r := prepare(t, Job{RW: RandRW, IODepth: 4, Filename: path, Size: 1 << 20, NumberIOs: 20000, RateIOPS: rate, IOEngine: engine})
				var begin, end runtime.MemStats
				r.OnWindow = func(b bool) {
					if b {
						runtime.ReadMemStats(&begin)
					} else {
						runtime.ReadMemStats(&end)
					}
				}
				res, err := r.Start(context.Background(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if n := end.Mallocs - begin.Mallocs; float64(n) > float64(res.Ops())/50 {
					t.Errorf("%d allocations in %d I/Os", n, res.Ops())
				}
			})
		}
	}
}

func BenchmarkNull(b *testing.B) {
	r, err := Prepare(Job{RW: RandRead, IODepth: 32, Size: 1 << 30, NumberIOs: int64(max(b.N, 1)), IOEngine: Null, Runtime: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	b.ResetTimer()
	if _, err := r.Start(context.Background(), nil); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkCachedRead(b *testing.B) {
	path := written(b, 16<<20)
	for _, engine := range realEngines() {
		b.Run(engine, func(b *testing.B) {
			needEngine(b, engine)
			r, err := Prepare(Job{RW: RandRead, IODepth: 1, Filename: path, NumberIOs: int64(max(b.N, 1)), Runtime: time.Hour, IOEngine: engine})
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			b.ResetTimer()
			if _, err := r.Start(context.Background(), nil); err != nil {
				b.Fatal(err)
			}
		})
	}
}
