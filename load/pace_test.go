package load

import (
	"math"
	"testing"
	"time"
)

// TestReadsAndWritesKeepTheirOwnRates: the arrivals of both are exact, in the order of their times.
func TestReadsAndWritesKeepTheirOwnRates(t *testing.T) {
	r := prepare(t, Job{RW: RandRW, Size: 1 << 20, IOEngine: Null, RateIOPS: 300, WriteRateIOPS: 100, Runtime: time.Second})
	th := r.threads[0]
	var count [2]int64
	last := int64(0)
	for i := range 4000 {
		at := th.arrival()
		if op := th.next; at != due(count[op], []int64{300, 100}[op]) || at < last {
			t.Fatalf("arrival %d: %s number %d at %d ns, after one at %d", i, opNames[op], count[op], at, last)
		}
		count[th.next]++
		last = at
	}
	if count != [2]int64{3000, 1000} {
		t.Errorf("%v reads and writes, want 3000 and 1000", count)
	}
}

// TestScheduleOfAYear: a Poisson schedule continues after more than a year, and an I/O that never comes due isn't due now.
func TestScheduleOfAYear(t *testing.T) {
	const years = 3 * 365 * 24 * int64(time.Hour)
	for _, j := range []Job{
		{RW: RandRead, RateIOPS: 1, RateProcess: Poisson}, {RW: RandRW, RateIOPS: 1, WriteRateIOPS: 1, RateProcess: Poisson},
	} {
		j.Size, j.IOEngine, j.Runtime = 1<<20, Null, time.Second
		th := prepare(t, j).threads[0]
		th.lane.ticket.Store(years * tick)
		th.lane.tickets.time, th.lane.tickets.begun = [2]int64{years * tick, years * tick}, true
		for last := years - 1; last < years+int64(time.Hour); {
			at := th.arrival()
			if at < last {
				t.Fatalf("%s: an arrival at %d after one at %d", j.RW, at, last)
			}
			last = at
		}
	}
	th := prepare(t, Job{RW: RandRead, Size: 1 << 20, IOEngine: Null, RateIOPS: 1, Runtime: time.Second}).threads[0]
	th.lane.ticket.Store(math.MaxInt64 - 1)
	th.lane.shift.Store(int64(time.Hour))
	th.run.start = 1
	if at := th.nextDue(); at != math.MaxInt64 {
		t.Errorf("nextDue() = %d of an I/O that never comes due", at)
	}
}

// TestPoissonGapsAreUnbiased: short gaps too have the mean of the rate.
func TestPoissonGapsAreUnbiased(t *testing.T) {
	th := prepare(t, Job{RW: RandRead, Size: 1 << 20, IOEngine: Null, RateIOPS: 1e8, RateProcess: Poisson, Runtime: time.Second}).threads[0]
	const n = 1 << 20
	var at int64
	for range n {
		at = th.arrival()
	}
	// The mean of n gaps is off by 1/sqrt(n) of itself.
	if got := float64(at) / n; math.Abs(got-10) > 10*5/math.Sqrt(n) {
		t.Errorf("the mean gap is %.4f ns, want 10", got)
	}
}

// TestRatesOfBothDirections: with any engine and any sizes, the numbers of reads and of writes follow their rates. One more or less
// may have been due when the job ended.
func TestRatesOfBothDirections(t *testing.T) {
	path := written(t, 1<<20)
	for _, c := range []struct {
		name   string
		change func(*Job)
		// of the bytes or the I/Os, and how far off they may be
		share, near float64
		bytes       bool
	}{
		{"null", func(j *Job) { j.IOEngine, j.IODepth, j.RateIOPS, j.WriteRateIOPS = Null, 32, 3e6, 1e6 }, 0.75, 0.001, false},
		{"threads that share a lane", func(j *Job) { j.IOEngine, j.IODepth, j.RateIOPS, j.WriteRateIOPS = PSync, 4, 30000, 10000 }, 0.75, 0.005, false},
		{"io_uring, two jobs", func(j *Job) {
			j.IOEngine, j.IODepth, j.NumJobs, j.WholeRegion, j.RateIOPS, j.WriteRateIOPS = IOUring, 4, 2, true, 9000, 91000
		}, 0.09, 0.005, false},
		{"bytes", func(j *Job) { j.IOEngine, j.Rate, j.WriteRate = Null, 4<<30, 1<<30 }, 0.8, 0.001, true},
		{"bytes of several sizes", func(j *Job) {
			j.IOEngine, j.IODepth, j.Rate, j.WriteRate = Null, 8, 4<<30, 1<<30
			j.ReadSplit, j.WriteSplit = []SizeShare{{4096, 50}, {16384, 50}}, []SizeShare{{65536, 100}}
		}, 0.8, 0.01, true},
		// For 2000 I/Os of a Poisson process this is five deviations.
		{"poisson", func(j *Job) { j.IOEngine, j.RateIOPS, j.WriteRateIOPS, j.RateProcess = Null, 3e6, 1e6, Poisson }, 0.75, 0.05, false},
	} {
		j := Job{RW: RandRW, Filename: path, Size: 1 << 20, NumberIOs: 2000}
		c.change(&j)
		if j.IOEngine == Null {
			j.Filename = ""
		}
		res := start(t, j)
		read, write := res.Class("read"), res.Class("write")
		got := float64(read.Ops) / float64(read.Ops+write.Ops)
		if c.bytes {
			got = float64(read.Bytes) / float64(read.Bytes+write.Bytes)
		}
		if math.Abs(got-c.share) > c.near || read.Ops+write.Ops != 2000*int64(max(j.NumJobs, 1)) {
			t.Errorf("%s: reads are %.4f of %d I/Os, want %v", c.name, got, read.Ops+write.Ops, c.share)
		}
		if read.Response == nil || int64(read.Response.Count()) != read.Ops || int64(write.Response.Count()) != write.Ops {
			t.Errorf("%s: response times are missing", c.name)
		}
	}
}

// TestMissedOfBothDirections: I/Os of both schedules that no thread had started by the end are missed.
func TestMissedOfBothDirections(t *testing.T) {
	for _, process := range []string{Linear, Poisson} {
		// One I/O at a time, which takes at least a pause of 1 ms: a tenth of the rate.
		res := start(t, Job{
			RW: RandRW, Size: 1 << 20, IOEngine: Null, RateIOPS: 9000, WriteRateIOPS: 1000, RateProcess: process,
			ThinkTime: time.Millisecond, Runtime: 300 * time.Millisecond,
		})
		if got := float64(res.Ops() + res.Missed + res.InFlight()); got < 2700 || got > 3300 || res.Missed < 2000 {
			t.Errorf("%s: %d done and %d missed, want 3000 in all", process, res.Ops(), res.Missed)
		}
	}
}

// TestMissedOfSeveralSizes: bytes of a rate that no thread moved count as missed I/Os of the mean size.
func TestMissedOfSeveralSizes(t *testing.T) {
	for _, process := range []string{Linear, Poisson} {
		res := start(t, Job{
			RW: RandRead, Size: 1 << 20, IOEngine: Null, ReadSplit: []SizeShare{{4096, 50}, {12288, 50}}, Rate: 10_000 * 8192, RateProcess: process,
			ThinkTime: time.Millisecond, Runtime: 300 * time.Millisecond,
		})
		if got := float64(res.Ops() + res.Missed + res.InFlight()); got < 2400 || got > 3600 || res.Missed < 2000 {
			t.Errorf("%s: %d done and %d missed, want about 3000 in all", process, res.Ops(), res.Missed)
		}
	}
}

// TestPausesPutTheScheduleOff: with RateIgnoreThinkTime the I/Os that came due in a pause are not made up for.
func TestPausesPutTheScheduleOff(t *testing.T) {
	for _, engine := range []string{Null, PSync} {
		j := Job{RW: RandRead, Size: 1 << 20, IOEngine: engine, RateIOPS: 1000, NumberIOs: 100, ThinkTime: 10 * time.Millisecond, ThinkTimeBlocks: 10, RateIgnoreThinkTime: true}
		if engine == PSync {
			j.Filename = written(t, 1<<20)
		}
		// The last of 100 is due after 99 ms and the nine pauses before it.
		if res := start(t, j); res.Elapsed < 185*time.Millisecond || res.Ops() != 100 {
			t.Errorf("%s: %d I/Os in %v, want 100 in 190 ms or more", engine, res.Ops(), res.Elapsed)
		}
	}
	// Pauses are not missed time: the rate only counts the rest of the time. Two jobs that are almost always in a pause.
	res := start(t, Job{
		RW: RandRead, Size: 1 << 20, NumJobs: 2, IOEngine: Null, RateIOPS: 1000, Runtime: 200 * time.Millisecond,
		ThinkTime: 50 * time.Millisecond, RateIgnoreThinkTime: true,
	})
	if n := res.Ops() + res.Missed; n > 20 {
		t.Errorf("%d were done and %d missed, but there was time for ten", res.Ops(), res.Missed)
	}
	for _, bad := range []Job{
		{RW: Read, Filename: "f", RateIOPS: 5, RateIgnoreThinkTime: true},
		{RW: Read, Filename: "f", ThinkTime: 5, RateIgnoreThinkTime: true},
	} {
		if err := bad.Validate(); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// TestOfferedOfBothDirections: the offered rate is the sum of both schedules, and the mean block is that of all their I/Os.
func TestOfferedOfBothDirections(t *testing.T) {
	for _, c := range []struct {
		job     Job
		offered float64
		mean    int64
	}{
		{Job{RW: RandRW, BS: 4096, RateIOPS: 300, WriteRateIOPS: 100, NumJobs: 2}, 800, 4096},
		{Job{RW: RandRW, RateIOPS: 300, WriteRateIOPS: 100, ReadSplit: []SizeShare{{4096, 100}}, WriteSplit: []SizeShare{{12288, 100}}}, 400, 6144},
		{Job{RW: RW, BS: 4096, Rate: 1 << 20, WriteRate: 1 << 20, WriteSplit: []SizeShare{{8192, 50}, {24576, 50}}}, 256 + 64, 6553},
		{Job{RW: RandRW, RateIOPS: 300}, 300, 4096},
		{Job{RW: RandRW}, 0, 4096},
	} {
		if _, mean, _ := c.job.BlockSizes(); c.job.Offered() != c.offered || mean != c.mean {
			t.Errorf("%+v offers %v a second of %d bytes, want %v of %d", c.job, c.job.Offered(), mean, c.offered, c.mean)
		}
	}
}
