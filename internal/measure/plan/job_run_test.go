package plan

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"plimsoll/internal/measure/steady"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// runJob runs the workload w of a plan in dir.
func runJob(t *testing.T, dir, job string) *workload.Result {
	t.Helper()
	p, err := Parse("f", []byte(head+"workloads:\n  w: {"+job+"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	spec, _ := p.Workload("w")
	run, err := workload.Prepare(t.Context(), spec, workload.Folders{Work: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	r, err := run.Run(t.Context(), nil)
	if s, ok := run.(workload.Settler); ok && err == nil {
		err = s.Settle(t.Context(), r, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPoissonKeepsTheRate: over its whole time a job with random arrivals does as many I/Os as one with
// even ones, give or take the square root of that.
func TestPoissonKeepsTheRate(t *testing.T) {
	const rate = 4000
	r := runJob(t, t.TempDir(), "rw: randread, size: 1MiB, iodepth: 8, rate_iops: 4000, rate_process: poisson, runtime: 1s")
	// A slow machine does not start all that were due.
	got := float64(r.Ops() + r.Missed)
	// Five standard deviations, and what was in flight at the end.
	if most := 5*math.Sqrt(rate) + 8; math.Abs(got-rate) > most {
		t.Errorf("%v I/Os came in a second, want %d +- %.0f", got, rate, most)
	}
	if r.Ops() == 0 {
		t.Error("none was done")
	}
}

// TestIOSizeEndsTheJob: at less than a pass and at more.
func TestIOSizeEndsTheJob(t *testing.T) {
	dir := t.TempDir()
	for _, size := range []string{"64KiB", "4MiB"} {
		want := map[string]int64{"64KiB": 16, "4MiB": 1024}[size]
		if r := runJob(t, dir, "rw: read, size: 1MiB, io_size: "+size); r.Ops() != want {
			t.Errorf("io_size %s: %d I/Os, want %d", size, r.Ops(), want)
		}
	}
}

// TestWrittenDataIsAsAsked: zeros for a compressor, copies for deduplication.
func TestWrittenDataIsAsAsked(t *testing.T) {
	const bs = 4096
	for _, tt := range []struct {
		job           string
		zeros, copies float64 // shares of the data
	}{
		{"", 0, 0},
		{", buffer_compress_percentage: 50", 0.5, 0},
		{", dedupe_percentage: 50", 0, 0.5},
	} {
		dir := t.TempDir()
		runJob(t, dir, "rw: write, size: 4MiB"+tt.job)
		files, err := filepath.Glob(filepath.Join(dir, "block-*.dat"))
		if err != nil || len(files) != 1 {
			t.Fatalf("files %v, %v", files, err)
		}
		data, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		zeros := float64(bytes.Count(data, []byte{0})) / float64(len(data))
		seen, copies := map[string]bool{}, 0.0
		for at := 0; at < len(data); at += bs {
			if b := string(data[at : at+bs]); seen[b] {
				copies += float64(bs) / float64(len(data))
			} else {
				seen[b] = true
			}
		}
		if math.Abs(zeros-tt.zeros) > 0.02 || math.Abs(copies-tt.copies) > 0.1 {
			t.Errorf("%q: %.2f of the data are zeros and %.2f copies, want %v and %v", tt.job, zeros, copies, tt.zeros, tt.copies)
		}
	}
}

// classOf is the class of r called name.
func classOf(t *testing.T, r *workload.Result, name string) load.Class {
	t.Helper()
	for _, c := range r.Classes {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no class %s in %+v", name, r.Classes)
	return load.Class{}
}

// TestSeveralSizes: by their shares, and in each direction those that were asked for.
func TestSeveralSizes(t *testing.T) {
	dir := t.TempDir()
	r := runJob(t, dir, "rw: randread, size: 16MiB, bssplit: 4KiB/75:64KiB/25, number_ios: 4000")
	large := float64(classOf(t, r, "read").Bytes-4000*4096) / (15 * 4096)
	// Five standard deviations of a binomial distribution.
	if sd := math.Sqrt(4000 * 0.75 * 0.25); r.Ops() != 4000 || math.Abs(large-1000) > 5*sd {
		t.Errorf("%v of %d I/Os were large, want 1000 of 4000", large, r.Ops())
	}
	r = runJob(t, dir, `rw: randrw, size: 16MiB, bssplit: "4KiB/100,16KiB/100", number_ios: 400`)
	if rd, wr := classOf(t, r, "read"), classOf(t, r, "write"); rd.Bytes != 4096*rd.Ops || wr.Bytes != 16384*wr.Ops || rd.Ops+wr.Ops != 400 {
		t.Errorf("%d reads of %d bytes, %d writes of %d", rd.Ops, rd.Bytes, wr.Ops, wr.Bytes)
	}
	// Four sizes, equally often, whose mean is 10 KiB. The deviation of one is 4,579 bytes.
	r = runJob(t, dir, "rw: randread, size: 16MiB, bsrange: 4KiB-16KiB, number_ios: 4000")
	if mean := float64(classOf(t, r, "read").Bytes) / 4000; r.Ops() != 4000 || math.Abs(mean-10240) > 5*4579/math.Sqrt(4000) {
		t.Errorf("%d I/Os have a mean of %v bytes, want 10240", r.Ops(), mean)
	}
	// A pass is as many bytes as the region has.
	if r = runJob(t, dir, "rw: read, size: 16MiB, bssplit: 4KiB/50:12KiB/50"); classOf(t, r, "read").Bytes < 16<<20 || classOf(t, r, "read").Bytes > 16<<20+12<<10 {
		t.Errorf("a pass over 16 MiB read %d bytes", classOf(t, r, "read").Bytes)
	}
}

// offsets are those at which a job wrote, found by what is there other than before.
func offsets(t *testing.T, job string, unit int64) []int64 {
	t.Helper()
	dir := t.TempDir()
	p, err := Parse("f", []byte(head+"workloads:\n  w: {"+job+"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	spec, _ := p.Workload("w")
	run, err := workload.Prepare(t.Context(), spec, workload.Folders{Work: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	files, err := filepath.Glob(filepath.Join(dir, "block-*.dat"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	before, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var out []int64
	for at := int64(0); at < int64(len(after)); at += unit {
		if !bytes.Equal(before[at:at+unit], after[at:at+unit]) {
			out = append(out, at)
		}
	}
	return out
}

func TestBlockAlign(t *testing.T) {
	got := offsets(t, "rw: randwrite, bs: 4KiB, blockalign: 64KiB, size: 4MiB, runtime: 10s, number_ios: 40", 4096)
	if len(got) < 20 || len(got) > 40 {
		t.Errorf("%d blocks were written by 40 I/Os to 64 places", len(got))
	}
	for _, at := range got {
		if at%(64<<10) != 0 {
			t.Errorf("offset %d is not a multiple of 64 KiB", at)
		}
	}
}

// TestRandomMap: as many I/Os as there are blocks touch each of them.
func TestRandomMap(t *testing.T) {
	const job = "rw: randwrite, size: 1MiB, runtime: 10s, number_ios: 256"
	if n := len(offsets(t, job+", random_map: true", 4096)); n != 256 {
		t.Errorf("%d of 256 blocks were written", n)
	}
	// With replacement it is 1-1/e of them: 162, with a standard deviation of 5.
	if n := len(offsets(t, job, 4096)); n < 120 || n > 200 {
		t.Errorf("%d of 256 blocks were written without a map", n)
	}
}

// TestPercentageRandom: at 0 % what is written is one stretch.
func TestPercentageRandom(t *testing.T) {
	// The first I/O of the job is in sequence with nothing: it begins at 0.
	got := offsets(t, "rw: randwrite, size: 1MiB, runtime: 10s, number_ios: 64, percentage_random: 0", 4096)
	if len(got) != 64 || got[63]-got[0] != 63*4096 {
		t.Errorf("%d blocks from %v on", len(got), got[:min(len(got), 3)])
	}
	got = offsets(t, "rw: randwrite, size: 4MiB, runtime: 10s, number_ios: 200, percentage_random: 50", 4096)
	follow := 0
	for i := 1; i < len(got); i++ {
		if got[i] == got[i-1]+4096 {
			follow++
		}
	}
	// By chance a fifth of them would, and half of them do, or more.
	if follow < 70 {
		t.Errorf("%d of %d blocks follow another", follow, len(got))
	}
}

func TestLoops(t *testing.T) {
	dir := t.TempDir()
	for _, job := range []string{"rw: read", "rw: randread", "rw: read, numjobs: 2"} {
		if r := runJob(t, dir, job+", size: 1MiB, loops: 3"); r.Ops() != 3*256 {
			t.Errorf("%s: %d I/Os in 3 passes, want %d", job, r.Ops(), 3*256)
		}
	}
}

// TestRateInBytes: over its whole time a job does what was asked for.
func TestRateInBytes(t *testing.T) {
	r := runJob(t, t.TempDir(), "rw: randread, bs: 16KiB, size: 1MiB, iodepth: 4, rate: 8MiB, runtime: 1s")
	due := float64(8<<20) / (16 << 10)
	if got := float64(r.Ops() + r.InFlight() + r.Missed); math.Abs(got-due) > 8 || r.Ops() == 0 {
		t.Errorf("%v I/Os came in a second, want %v", got, due)
	}
	if classOf(t, r, "read").Response.Count() != uint64(r.Ops()+r.InFlight()) {
		t.Error("there are no response times")
	}
}

// TestThinkTime: a thread is held up for all of its pauses, and computes in them as asked.
func TestThinkTime(t *testing.T) {
	dir := t.TempDir()
	r := runJob(t, dir, "rw: randread, size: 1MiB, number_ios: 40, thinktime: 20ms, thinktime_blocks: 8")
	// The last pause is not awaited.
	if r.Ops() != 40 || r.Elapsed < 4*20*time.Millisecond {
		t.Errorf("%d I/Os with four pauses of 20 ms took %v", r.Ops(), r.Elapsed)
	}
	r = runJob(t, dir, "rw: randread, size: 1MiB, number_ios: 10, thinktime: 20ms, thinktime_spin: 15ms")
	if cpu := r.Usage.User + r.Usage.System; r.Elapsed < 180*time.Millisecond || runtime.GOOS == "linux" && cpu < 10*time.Millisecond {
		t.Errorf("nine pauses of 20 ms, 15 of them spent computing, took %v and %v of CPU time", r.Elapsed, cpu)
	}
}

func TestZeroBuffers(t *testing.T) {
	dir := t.TempDir()
	runJob(t, dir, "rw: write, size: 1MiB, zero_buffers: true")
	files, _ := filepath.Glob(filepath.Join(dir, "block-*.dat"))
	data, err := os.ReadFile(files[0])
	if err != nil || !bytes.Equal(data, make([]byte, 1<<20)) {
		t.Errorf("%d bytes of the file are no zeros, %v", len(bytes.Trim(data, "\x00")), err)
	}
}

func TestVerifyChecksAll(t *testing.T) {
	dir := t.TempDir()
	for _, job := range []string{"rw: randwrite, iodepth: 4", "rw: write, bs: 64KiB", "rw: randread", "rw: read, loops: 2"} {
		r := runJob(t, dir, job+", size: 1MiB, verify: crc32c")
		if read, written := r.Bytes(); r.Verified.Bytes != read+written || r.Verified.Bytes < 1<<20 {
			t.Errorf("%s: %d bytes were checked of %d", job, r.Verified.Bytes, read+written)
		}
	}
}

// TestSteadyStateHasFiveRounds: whether it gets there or not, the figures are of five rounds.
func TestSteadyStateHasFiveRounds(t *testing.T) {
	r := runJob(t, t.TempDir(), "rw: randread, size: 1MiB, rate_iops: 1000, iodepth: 2, ramp_time: 50ms, runtime: 1200ms, steady_state: {round: 100ms}")
	if r.Rounds == nil {
		t.Fatal("there are no rounds")
	}
	n := r.Rounds.To - r.Rounds.From
	window := r.Rounds.Each[r.Rounds.From:r.Rounds.To]
	var ops int64
	for _, s := range window {
		ops += s.Ops
	}
	if n > steady.WindowRounds || ops != r.Ops() || classOf(t, r, "read").Lat.Count() != uint64(ops+r.InFlight()) {
		t.Errorf("%d rounds with %d I/Os, the result has %d", n, ops, r.Ops())
	}
	if n < steady.WindowRounds && len(r.Rounds.Each) >= steady.WindowRounds {
		t.Errorf("%d of %d rounds count", n, len(r.Rounds.Each))
	}
}

// TestThreadsHaveRegions: with whole_region each thread does all of it, with offset_increment each its own part, and else a slice.
func TestThreadsHaveRegions(t *testing.T) {
	for job, want := range map[string]struct{ ops, bytes int64 }{
		"":                         {256, 1 << 20},
		", whole_region: true":     {2 * 256, 1 << 20},
		", offset_increment: 1MiB": {2 * 256, 2 << 20},
	} {
		for _, rw := range []string{"read", "randread"} {
			dir := t.TempDir()
			r := runJob(t, dir, "rw: "+rw+", size: 1MiB, numjobs: 2"+job)
			if r.Ops() != want.ops || r.File.Size != want.bytes {
				t.Errorf("%s%s: %d I/Os in a file of %d bytes, want %+v", rw, job, r.Ops(), r.File.Size, want)
			}
		}
	}
}

// TestPassesWithRepeats: norandommap has a pass leave some blocks out.
func TestPassesWithRepeats(t *testing.T) {
	if n := len(offsets(t, "rw: randwrite, size: 1MiB, norandommap: true", 4096)); n < 120 || n > 200 {
		t.Errorf("%d of 256 blocks were written without a map", n)
	}
	if n := len(offsets(t, "rw: randwrite, size: 1MiB", 4096)); n != 256 {
		t.Errorf("%d of 256 blocks were written by a pass", n)
	}
}

// TestRWNumber: a sequential job leaves gaps of so many bytes.
func TestRWNumber(t *testing.T) {
	got := offsets(t, "rw: write, size: 64KiB, rw_number: 4096, io_size: 32KiB", 4096)
	if len(got) != 8 || got[1] != 8192 || got[7] != 14*4096 {
		t.Errorf("blocks at %v", got)
	}
}

// TestTimeoutFits: what a plan's jobs may take is below its timeout, which is not lowered.
func TestTimeoutFits(t *testing.T) {
	for job, want := range map[string]time.Duration{
		"rw: read, size: 1MiB":                                   time.Minute,
		"rw: read, size: 1MiB, runtime: 15m, ramp_time: 1m":      17 * time.Minute,
		"rw: read, size: 6GB, runtime: 1m":                       4 * time.Minute, // and two minutes to lay it out
		"rw: read, size: 6GB, runtime: 1m, numjobs: 2":           4 * time.Minute,
		"rw: randread, size: 256KiB, loops: 1000":                2 * time.Minute, // 64,000 I/Os at 1,000 a second
		"rw: randread, size: 1MiB, runtime: 23h, ramp_time: 59m": 24 * time.Hour,
	} {
		text := []byte(head + "timeout: 24h\nworkloads:\n  w: {" + job + "}\n")
		p, err := Parse("f", text)
		if err != nil {
			t.Fatal(err)
		}
		p.Timeout = DefaultTimeout
		if p.FitTimeout(); p.Timeout != want {
			t.Errorf("%s: the timeout is %v, want %v", job, p.Timeout, want)
		}
		if p.Timeout = 25 * time.Hour; true {
			if p.FitTimeout(); p.Timeout != 25*time.Hour {
				t.Errorf("%s: the timeout is lowered to %v", job, p.Timeout)
			}
		}
	}
}
