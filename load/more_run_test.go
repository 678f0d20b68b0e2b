package load

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestSeveralSizesAreCountedAsTheyWere(t *testing.T) {
	path := written(t, 1<<20)
	for _, engine := range realEngines() {
		needEngine(t, engine)
		j := Job{
			RW: RandRW, IODepth: 4, NumJobs: 2, Filename: path, IOEngine: engine, NumberIOs: 400, PerJob: true,
			ReadSplit: []SizeShare{{4096, 50}, {16384, 50}}, WriteSplit: []SizeShare{{512, 100}},
		}
		res := start(t, j)
		r, w := res.Class("read"), res.Class("write")
		if r.Ops+w.Ops != 800 || w.Bytes != 512*w.Ops {
			t.Errorf("%s: %d reads and %d writes of %d bytes", engine, r.Ops, w.Ops, w.Bytes)
		}
		if big := (r.Bytes - 4096*r.Ops) / 12288; r.Bytes != big*16384+(r.Ops-big)*4096 || big < r.Ops/3 || big > 2*r.Ops/3 {
			t.Errorf("%s: %d reads of %d bytes", engine, r.Ops, r.Bytes)
		}
		var ops, bytes int64
		for _, one := range res.Jobs {
			if n := one.Classes[0].Ops + one.Classes[1].Ops; n != 400 {
				t.Errorf("%s: one of the jobs did %d I/Os, want 400", engine, n)
			}
			for _, c := range one.Classes {
				ops, bytes = ops+c.Ops, bytes+c.Bytes
			}
		}
		if u := res.Threads; runtime.GOOS == "linux" && (u != res.Jobs[0].Threads.plus(res.Jobs[1].Threads, 1)) {
			t.Errorf("%s: the threads cost %+v, the jobs' %+v and %+v", engine, u, res.Jobs[0].Threads, res.Jobs[1].Threads)
		}
		if len(res.Jobs) != 2 || ops != 800 || bytes != r.Bytes+w.Bytes {
			t.Errorf("%s: the jobs' sums are %d I/Os and %d bytes", engine, ops, bytes)
		}
		var s Sample
		for _, e := range res.Samples {
			s.Ops, s.Bytes, s.Lat = s.Ops+e.Ops, s.Bytes+e.Bytes, s.Lat+e.Lat
			s.WriteOps, s.WriteBytes, s.WriteLat = s.WriteOps+e.WriteOps, s.WriteBytes+e.WriteBytes, s.WriteLat+e.WriteLat
		}
		want := Sample{
			Ops: 800, Bytes: bytes, WriteOps: w.Ops, WriteBytes: w.Bytes,
			WriteLat: time.Duration(w.Lat.Sum()), Lat: time.Duration(r.Lat.Sum() + w.Lat.Sum()),
		}
		if s != want {
			t.Errorf("%s: the samples' sums are %+v, want %+v", engine, s, want)
		}
	}
}

func TestThreadsCostTime(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs getrusage of a thread")
	}
	res := start(t, Job{RW: RandRead, Size: 1 << 20, IOEngine: Null, NumJobs: 2, Runtime: 300 * time.Millisecond})
	// Two threads that never wait; the machine may give them less than its CPUs.
	if u := res.Threads; u.User+u.System < 30*time.Millisecond || u.User+u.System > time.Second {
		t.Errorf("two busy threads of 300 ms cost %+v", u)
	}
}

func TestIOSizeAndLoopsEndAJob(t *testing.T) {
	path := written(t, 64<<10)
	for _, c := range []struct {
		job  Job
		want int64
	}{
		{Job{RW: Read, IOSize: 20480}, 20480},
		{Job{RW: Read, IOSize: 200 << 10, Runtime: time.Minute}, 200 << 10},
		{Job{RW: RandRead, Loops: 3}, 3 * 64 << 10},
		{Job{RW: Read, NumJobs: 2, WholeRegion: true}, 2 * 64 << 10},
		{Job{RW: Read, BS: 4096, RWNumber: 4096}, 32 << 10},
		{Job{RW: Read, ReadSplit: []SizeShare{{4096, 100}}, IOSize: 40960}, 40960},
	} {
		c.job.Filename = path
		if got := start(t, c.job).Class("read").Bytes; got != c.want {
			t.Errorf("%+v read %d bytes, want %d", c.job, got, c.want)
		}
	}
}

func TestFilesEachGetTheirRegion(t *testing.T) {
	for _, engine := range realEngines() {
		needEngine(t, engine)
		dir := t.TempDir()
		var files []string
		for _, n := range []string{"a", "b", "c"} {
			p := zeros(t, dir, 64<<10)
			files = append(files, filepath.Join(dir, n))
			if err := os.Rename(p, files[len(files)-1]); err != nil {
				t.Fatal(err)
			}
		}
		res := start(t, Job{RW: RandWrite, Files: files, IODepth: 3, IOEngine: engine, EndFsync: true})
		if c := res.Class("write"); c.Bytes != 3*64<<10 {
			t.Errorf("%s: wrote %d bytes", engine, c.Bytes)
		}
		for _, f := range files {
			for i, off := range stamps(t, f, 4096) {
				if off != int64(i)*4096 {
					t.Fatalf("%s: %s: block %d is stamped %d", engine, f, i, off)
				}
			}
		}
	}
	_, err := Prepare(Job{RW: Read, Files: []string{written(t, 4096), "/nonexistent/x"}})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "/nonexistent/x") {
		t.Errorf("a missing second file: %v", err)
	}
}

// deflated returns the compressed size of data as a share of its size.
func deflated(t *testing.T, p []byte) float64 {
	t.Helper()
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, flate.DefaultCompression)
	if _, err := w.Write(p); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return float64(out.Len()) / float64(len(p))
}

func TestDataIsWhatWasAskedFor(t *testing.T) {
	write := func(j Job) []byte {
		t.Helper()
		j.RW, j.BS, j.Filename = Write, 16384, zeros(t, t.TempDir(), 1<<20)
		start(t, j)
		p, err := os.ReadFile(j.Filename)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if c := deflated(t, write(Job{})); c < 0.99 {
		t.Errorf("the usual data shrinks to %v", c)
	}
	if c := deflated(t, write(Job{Compress: 70})); c < 0.27 || c > 0.35 {
		t.Errorf("buffer_compress_percentage=70 shrinks to %v", c)
	}
	if p := write(Job{Data: DataPattern, Pattern: []byte("abc")}); !bytes.HasPrefix(p[16384:], []byte("abcabcab")) || p[16383] != "abc"[16383%3] {
		t.Errorf("pattern: %q", p[:10])
	}
	// 40,000 bytes take three blocks; the fourth begins anew.
	source := make([]byte, 40_000)
	fillRandom(source, 7)
	once := bytes.Repeat(source, 2)[:3*16384]
	if p := write(Job{Data: DataSource, Pattern: source}); !bytes.Equal(p, bytes.Repeat(once, len(p)/len(once)+1)[:len(p)]) {
		t.Errorf("the source isn't what was written, one block after another: %x", p[:10])
	}
	if err := os.WriteFile(filepath.Join(t.TempDir(), "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	blocks := map[string]int{}
	for p := write(Job{Dedupe: 50}); len(p) > 0; p = p[16384:] {
		blocks[string(p[:16384])]++
	}
	if n := 64 - len(blocks); n < 16 || n > 48 {
		t.Errorf("dedupe_percentage=50: %d of 64 blocks repeat", n)
	}
	path := filepath.Join(t.TempDir(), "ones")
	if err := os.WriteFile(path, bytes.Repeat([]byte{1}, 65536), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, Job{RW: Write, Filename: path, Data: DataZero})
	if p, _ := os.ReadFile(path); !bytes.Equal(p, make([]byte, 65536)) {
		t.Error("data=zero wrote something else")
	}
}

func TestPoissonRate(t *testing.T) {
	for _, c := range []struct {
		engine string
		depth  int
		jobs   int
	}{{Null, 32, 1}, {Null, 1, 2}} {
		res := start(t, Job{RW: RandRead, IODepth: c.depth, NumJobs: c.jobs, Size: 1 << 20, IOEngine: c.engine, Runtime: 500 * time.Millisecond, RateIOPS: 20000, RateProcess: Poisson})
		// The count of a Poisson process has the variance of its mean: 100 I/Os here.
		want := float64(10000 * c.jobs)
		got := float64(res.Ops() + res.Missed + res.InFlight())
		if got < want-600*float64(c.jobs) || got > want+600*float64(c.jobs) {
			t.Errorf("%+v: %v arrivals, want about %v", c, got, want)
		}
	}
	// The gaps are exponential: their deviation is their mean.
	j := Job{RW: RandRead, Size: 1 << 20, IOEngine: Null, NumJobs: 1, RateIOPS: 1e6, RateProcess: Poisson, Runtime: time.Second}
	r := prepare(t, j)
	th := r.threads[0]
	var sum, square float64
	last := int64(0)
	const n = 100000
	for range n {
		at := th.arrival()
		d := float64(at - last)
		last = at
		sum += d
		square += d * d
	}
	mean := sum / n
	if mean < 985 || mean > 1015 {
		t.Errorf("gaps have mean %v ns, want 1000", mean)
	}
	if dev := square/n - mean*mean; dev < 0.95e6 || dev > 1.05e6 {
		t.Errorf("gaps have variance %v, want 1e6", dev)
	}
}

func TestRateInBytes(t *testing.T) {
	path := written(t, 1<<20)
	for _, split := range [][]SizeShare{nil, {{4096, 50}, {8192, 50}}} {
		res := start(t, Job{RW: Read, Filename: path, Rate: 4 << 20, ReadSplit: split, Runtime: 500 * time.Millisecond})
		if got := float64(res.Class("read").Bytes) / (2 << 20); got > 1.02 || res.Late == 0 && got < 0.95 {
			t.Errorf("split %v: %v of the bytes asked for", split, got)
		}
	}
}

func TestThinkTimePausesAThread(t *testing.T) {
	for _, engine := range realEngines() {
		needEngine(t, engine)
		j := Job{RW: Read, Filename: written(t, 64<<10), IODepth: 2, IOEngine: engine, ThinkTime: 20 * time.Millisecond, ThinkTimeBlocks: 4, NumberIOs: 16}
		res := start(t, j)
		pauses := 3 // after 4, 8 and 12
		if engine == PSync {
			pauses = 1 // two threads that do about 8 each
		}
		if res.Elapsed < time.Duration(pauses)*20*time.Millisecond {
			t.Errorf("%s: took %v with %d pauses of 20 ms", engine, res.Elapsed, pauses)
		}
	}
}

func TestStartDelayIsNotMeasured(t *testing.T) {
	r := prepare(t, Job{RW: Read, Filename: written(t, 1<<20), StartDelay: 60 * time.Millisecond, RateIOPS: 1000, Runtime: 50 * time.Millisecond})
	t0 := time.Now()
	res, err := r.Start(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := time.Since(t0); d < 110*time.Millisecond || res.Elapsed > 55*time.Millisecond || res.Start.Sub(t0) < 59*time.Millisecond {
		t.Errorf("took %v, of which %v were measured, from %v on", d, res.Elapsed, res.Start.Sub(t0))
	}
	if n := res.Ops() + res.Missed + res.InFlight(); n < 45 || n > 51 {
		t.Errorf("%d I/Os of 50", n)
	}
}

func TestRunsSideBySide(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	path := written(t, 1<<20)
	var runs []*Run
	for range 3 {
		r, err := Prepare(Job{RW: RandRead, Filename: path, Runtime: 50 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
	var all sync.WaitGroup
	for _, r := range runs {
		all.Go(func() {
			if res, err := r.Start(context.Background(), nil); err != nil || res.Ops() == 0 {
				t.Errorf("result %+v, %v", res, err)
			}
		})
	}
	all.Wait()
	for _, r := range runs {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if after := runtime.GOMAXPROCS(0); after != before {
		t.Errorf("GOMAXPROCS is %d after the runs and was %d", after, before)
	}
}

// TestSizesFillTheRegion: I/Os of several sizes end at the end of the region and move exactly its bytes, as fio's do.
func TestSizesFillTheRegion(t *testing.T) {
	const size = 2<<20 + 12<<10
	path := written(t, size)
	for _, engine := range realEngines() {
		needEngine(t, engine)
		for _, rw := range []string{Read, Write, RandRead, RandWrite} {
			for loops := int64(1); loops <= 2; loops++ {
				j := Job{RW: rw, Filename: path, IOEngine: engine, Loops: loops, IODepth: 3}
				split := []SizeShare{{4096, 50}, {65536, 50}}
				if j.ReadSplit = split; j.Writes() {
					j.ReadSplit, j.WriteSplit = nil, split
				}
				if synchronous(engine) {
					j.IODepth = 1 // Threads that share a budget may each take a last I/O.
				}
				n := int64(0)
				for _, c := range start(t, j).Classes {
					n += c.Bytes
				}
				if n != size*loops {
					t.Errorf("%s %s, %d passes: %d bytes, want %d", engine, rw, loops, n, size*loops)
				}
			}
		}
	}
	all := drawMany(t, Job{RW: Read, ReadSplit: []SizeShare{{4096, 10}, {65536, 90}}, Runtime: time.Second}, size, 400)
	for i, s := range all[1:] {
		if end := all[i].off + int64(all[i].size); s.off != end%size {
			t.Fatalf("I/O %d is at %d, want %d", i+1, s.off, end%size)
		}
	}
}

// TestSyncsFollowReadsToo: with SyncReads each read between a sync and the next write has a sync of its own.
func TestSyncsFollowReadsToo(t *testing.T) {
	path := written(t, 1<<20)
	for _, engine := range realEngines() {
		needEngine(t, engine)
		for every, least := range map[int]int64{1: 90, 3: 22} {
			j := Job{RW: RandRW, Filename: path, IOEngine: engine, NumberIOs: 100, Fsync: every}
			res := start(t, j)
			without, writes := res.Class("sync").Ops, res.Class("write").Ops
			j.SyncReads = true
			with := start(t, j).Class("sync").Ops
			if want := writes / int64(every); without != want {
				t.Errorf("%s, fsync=%d: %d syncs of %d writes, want %d", engine, every, without, writes, want)
			}
			if with < least || with <= without || with > 100 {
				t.Errorf("%s, fsync=%d: %d syncs with those after reads, want more than %d, %d to 100", engine, every, with, without, least)
			}
		}
	}
}

// TestMixedJobsOnlyStamp: a mixed job may read blocks that it has not written yet; a job of reads finds the blocks that it wrote.
func TestMixedJobsOnlyStamp(t *testing.T) {
	for _, engine := range realEngines() {
		needEngine(t, engine)
		j := Job{RW: RandRW, Filename: written(t, 1<<20), IOEngine: engine, IODepth: 4, Verify: true, RandSeed: 7}
		start(t, j)
		j.RW = Read
		r := prepare(t, j)
		var wrong *VerifyError
		if _, err := r.Start(context.Background(), nil); !errors.As(err, &wrong) {
			t.Errorf("%s: half of the file was never written, but reading it back says %v", engine, err)
		}
	}
}
