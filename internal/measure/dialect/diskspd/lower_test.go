package diskspd

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

func num(n int) *int { return &n }

// TestStage: what a line asks for, in the load generator's words.
func TestStage(t *testing.T) {
	// usual is the job of a line without options.
	usual := func(change func(*workload.StageJob)) workload.StageJob {
		j := workload.StageJob{Name: "target 1", Job: load.Job{
			RW: load.Read, BS: 64 << 10, IODepth: 2, NumJobs: 1, WholeRegion: true, Filename: "f",
			Runtime: 10 * time.Second, RampTime: 5 * time.Second, SplitCPUs: true, RandSeed: 1, PerJob: true,
		}}
		change(&j)
		return j
	}
	for _, c := range []struct {
		line string
		want []workload.StageJob
	}{
		{"f", []workload.StageJob{usual(func(*workload.StageJob) {})}},
		{"-b8K -d30 -o4 -t8 -h -r -w25 -L -Z1G -c5G f", []workload.StageJob{usual(func(j *workload.StageJob) {
			j.Size = 5 << 30
			j.Job.RW, j.Job.RWMixRead, j.Job.OneSequence, j.Job.WholeRegion = load.RandRW, num(75), true, false
			j.Job.BS, j.Job.Runtime, j.Job.IODepth, j.Job.NumJobs = 8192, 30*time.Second, 4, 8
			j.Job.Direct, j.Job.Sync, j.Job.Data, j.Job.Size = true, "dsync", load.DataRandom, 5<<30
		})}},
		{"-w100 -T1M -t2 -s128K -B1M:64M -C2 -W0 -D50 -z3 f g", []workload.StageJob{
			usual(func(j *workload.StageJob) {
				j.Job.RW, j.Job.Data, j.Job.Pattern = load.Write, load.DataPattern, bytePattern
				j.Job.StartIncrement, j.Job.NumJobs, j.Job.RWNumber, j.Job.Offset, j.Job.Size = 1<<20, 2, 64<<10, 1<<20, 64<<20
				j.Job.CoolDown, j.Job.RampTime, j.Job.SampleEvery, j.Job.RandSeed = 2*time.Second, 0, 50*time.Millisecond, 3<<20|1
			}),
			usual(func(j *workload.StageJob) {
				j.Name, j.Job.Filename = "target 2", "g"
				j.Job.RW, j.Job.Data, j.Job.Pattern = load.Write, load.DataPattern, bytePattern
				j.Job.StartIncrement, j.Job.NumJobs, j.Job.RWNumber, j.Job.Offset, j.Job.Size = 1<<20, 2, 64<<10, 1<<20, 64<<20
				j.Job.CoolDown, j.Job.RampTime, j.Job.SampleEvery, j.Job.RandSeed = 2*time.Second, 0, 50*time.Millisecond, 3<<20|2
				j.Job.SplitFrom = 2
			}),
		}},
		{"-si -t4 -n -g100 -i5 -j20 -Sw f", []workload.StageJob{usual(func(j *workload.StageJob) {
			j.Job.SharedCursor, j.Job.NumJobs, j.Job.SplitCPUs, j.Job.Rate = true, 4, false, 100_000
			j.Job.ThinkTimeBlocks, j.Job.ThinkTime, j.Job.Sync = 5, 20*time.Millisecond, "dsync"
		})}},
		{"-p -o4 -t2 -T1M -s8K -b4K f", []workload.StageJob{usual(func(j *workload.StageJob) {
			j.Job.Parallel, j.Job.IODepth, j.Job.NumJobs, j.Job.StartIncrement, j.Job.BS, j.Job.RWNumber = true, 4, 2, 1<<20, 4096, 4096
		})}},
		{"-F3 -O4 -r -c1M f g", []workload.StageJob{usual(func(j *workload.StageJob) {
			j.Name, j.Size = "all targets", 1<<20
			j.Job.RW, j.Job.WholeRegion, j.Job.NumJobs, j.Job.IODepth, j.Job.Size = load.RandRead, false, 3, 4, 1<<20
			j.Job.Filename, j.Job.Files, j.Job.FileService, j.Job.PerFile = "", []string{"f", "g"}, load.Random, true
		})}},
		{"-Sm -Nv -o8 -w100 f", []workload.StageJob{usual(func(j *workload.StageJob) {
			j.Job.RW, j.Job.Data, j.Job.Pattern, j.Job.IOEngine, j.Job.IODepth, j.Job.Sync = load.Write, load.DataPattern, bytePattern, load.MMap, 1, "dsync"
		})}},
		{"-w100 -Zr f", []workload.StageJob{usual(func(j *workload.StageJob) {
			j.Job.RW, j.Job.Data, j.Job.Refill = load.Write, load.DataRandom, load.RefillWithin
		})}},
		{"-fs -l f", []workload.StageJob{usual(func(j *workload.StageJob) { j.Job.Hint, j.Job.LargePages = load.Sequential, true })}},
		{"-r -fr f", []workload.StageJob{usual(func(j *workload.StageJob) {
			j.Job.RW, j.Job.Hint, j.Job.WholeRegion = load.RandRead, load.Random, false
		})}},
		{"-p -o1 f", []workload.StageJob{usual(func(j *workload.StageJob) { j.Job.IODepth = 1 })}},
		{"-rs30 -w50 -g80i -a1,0 -F3 -Z f g", []workload.StageJob{
			usual(func(j *workload.StageJob) {
				j.Job.RW, j.Job.RWMixRead, j.Job.OneSequence, j.Job.PercentageRandom, j.Job.WholeRegion = load.RandRW, num(50), true, num(30), false
				j.Job.RateIOPS, j.Job.CPUs, j.Job.NumJobs, j.Job.Data = 80, []int{1, 0}, 3, load.DataZero
			}),
			usual(func(j *workload.StageJob) {
				j.Name, j.Job.Filename, j.Job.RandSeed = "target 2", "g", 2
				j.Job.RW, j.Job.RWMixRead, j.Job.OneSequence, j.Job.PercentageRandom, j.Job.WholeRegion = load.RandRW, num(50), true, num(30), false
				j.Job.RateIOPS, j.Job.CPUs, j.Job.NumJobs, j.Job.Data = 80, []int{1, 0}, 3, load.DataZero
			}),
		}},
		{"-r4K -F2 -O9 -f1G -rdpct90/10:0/10 f", []workload.StageJob{usual(func(j *workload.StageJob) {
			j.Job.RW, j.Job.BlockAlign, j.Job.WholeRegion, j.Job.NumJobs, j.Job.IODepth = load.RandRead, 4096, false, 2, 9
			j.Job.Size, j.Job.Distribution = 1<<30, "zoned:90/10:0/10:10/80"
		})}},
		{"-r -f1G -rdabs30/256M:0/512M:50/1G f", []workload.StageJob{usual(func(j *workload.StageJob) {
			j.Job.RW, j.Job.WholeRegion, j.Job.Size = load.RandRead, false, 1<<30
			j.Job.Distribution = "zoned_abs:37.5/268435456:0/536870912:62.5/268435456"
		})}},
	} {
		test, err := Parse(strings.Fields(c.line), ParseOptions{})
		if err != nil {
			t.Errorf("%q: %v", c.line, err)
			continue
		}
		got := test.Profile.Spans[0].stage(here{}, nil)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", c.line, d)
		}
		for _, j := range got {
			if err := j.Job.Validate(); err != nil {
				t.Errorf("%q: %v", c.line, err)
			}
		}
	}
}

// TestPercentOfAnySize: ranges in percent follow one another to the end, also of the largest file in the smallest steps.
func TestPercentOfAnySize(t *testing.T) {
	for _, size := range []uint64{100, 1 << 20, 1 << 57, math.MaxInt64} {
		target := Target{Block: 1, Align: 1, RandomRatio: 100, Ranges: []Range{{IO: 10, Size: 50}, {IO: 10, Size: 49}, {IO: 80, Size: 1}}}
		at := uint64(0)
		for i, p := range target.effective(size) {
			if want := target.Ranges[i].Size * (size / 100); p.first != at || p.size < want || p.size > want+100 {
				t.Errorf("range %d of %d bytes is %d bytes at %d, want %d at %d", i, size, p.size, p.first, want, at)
			}
			at = p.first + p.size
		}
		if at != size {
			t.Errorf("the ranges of %d bytes end at %d", size, at)
		}
	}
}

// TestBuckets: I/Os that a late sample saw are in the intervals in which they were done.
func TestBuckets(t *testing.T) {
	const ms = time.Millisecond
	r, w := buckets([]load.Sample{
		{At: 110 * ms, Ops: 110, WriteOps: 11, Lat: 1100},
		{At: 310 * ms, Ops: 200},
		{At: 400 * ms, Ops: 90, WriteOps: 9},
		{At: 450 * ms, Ops: 1000},
	}, 100*ms, 450*ms)
	near := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
	if d := cmp.Diff([]float64{90, 99, 100, 91}, []float64{r[0].ops, r[1].ops, r[2].ops, r[3].ops}, near); d != "" || len(r) != 4 {
		t.Error(d)
	}
	if d := cmp.Diff([]float64{10, 1, 0, 9}, []float64{w[0].ops, w[1].ops, w[2].ops, w[3].ops}, near); d != "" {
		t.Error(d)
	}
	k := Kind{Buckets: []bucket{{ops: 10}, {ops: 20}}}
	if d := k.iopsDeviation(500 * ms); d != 10 {
		t.Errorf("the deviation of 20 and 40 IOPS is %v, want 10", d)
	}
}
