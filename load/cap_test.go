package load

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestRateOfOneDirection: the writes, or the reads, of a mixed job keep to their rate while the others run as fast as they can.
func TestRateOfOneDirection(t *testing.T) {
	path := written(t, 1<<20)
	for _, c := range []struct {
		name   string
		change func(*Job)
		held   string
		near   float64 // the share of the rate by which it may be exceeded
	}{
		{"writes, null", func(j *Job) { j.IOEngine, j.IODepth, j.RateIOPS, j.RateOnly = Null, 32, 20000, "write" }, "write", 0.02},
		{"reads, null", func(j *Job) { j.IOEngine, j.IODepth, j.RateIOPS, j.RateOnly = Null, 32, 20000, "read" }, "read", 0.02},
		{"threads that share a lane", func(j *Job) { j.IOEngine, j.IODepth, j.RateIOPS, j.RateOnly = PSync, 4, 1000, "write" }, "write", 0.05},
		{"io_uring", func(j *Job) { j.IOEngine, j.IODepth, j.RateIOPS, j.RateOnly = IOUring, 4, 1000, "write" }, "write", 0.05},
		{"bytes of several sizes", func(j *Job) {
			j.IOEngine, j.IODepth, j.Rate, j.RateOnly = Null, 8, 200<<20, "write"
			j.WriteSplit = []SizeShare{{4096, 50}, {16384, 50}}
		}, "write", 0.05},
		// 10,000 arrivals of a Poisson process: five deviations.
		{"poisson", func(j *Job) {
			j.IOEngine, j.RateIOPS, j.RateOnly, j.RateProcess = Null, 20000, "write", Poisson
		}, "write", 0.07},
	} {
		j := Job{RW: RandRW, Filename: path, Size: 1 << 20, Runtime: 500 * time.Millisecond}
		c.change(&j)
		if j.IOEngine == Null {
			j.Filename = ""
		}
		res := start(t, j)
		seconds := res.Elapsed.Seconds()
		other := map[string]string{"read": "write", "write": "read"}[c.held]
		held, free := res.Class(c.held), res.Class(other)
		seen, asked := float64(held.Ops)/seconds, float64(j.RateIOPS)
		if j.Rate > 0 {
			seen, asked = float64(held.Bytes)/seconds, float64(j.Rate)
		}
		// A busy machine may let too few through, never too many.
		if seen/asked > 1+c.near+2/asked/seconds || seen < asked/2 {
			t.Errorf("%s: %.0f %ss a second, asked for %.0f", c.name, seen, c.held, asked)
		}
		// On any machine this is far more than the mix would have allowed beside the rate.
		if free.Ops < 3*held.Ops {
			t.Errorf("%s: %d %ss beside %d that are held", c.name, free.Ops, other, held.Ops)
		}
		if held.Response != nil || free.Response != nil {
			t.Errorf("%s: the closed loop has response times", c.name)
		}
		if n := res.Late + res.Missed; n > 0 {
			t.Errorf("%s: %d I/Os of the closed loop are late or missed", c.name, n)
		}
		if j.OpenLoop() || j.Offered() > 0 {
			t.Errorf("%s: it is an open loop (%v) that offers %v", c.name, j.OpenLoop(), j.Offered())
		}
	}
}

// TestRateAboveTheMix: a rate that the mix doesn't reach leaves the mix as it is.
func TestRateAboveTheMix(t *testing.T) {
	mix := 90
	res := start(t, Job{RW: RandRW, Size: 1 << 20, IOEngine: Null, NumberIOs: 100000, RWMixRead: &mix, RateIOPS: 1e9, RateOnly: "write"})
	if share := float64(res.Class("read").Ops) / 100000; math.Abs(share-0.9) > 0.01 {
		t.Errorf("reads are %.3f of all, want 0.9", share)
	}
}

func TestRateOnlyOfWhatIsThere(t *testing.T) {
	all := 100
	for _, c := range []struct {
		job  Job
		want string
	}{
		{Job{RW: RandRead, RateIOPS: 5, RateOnly: "read"}, "both reads and writes"},
		{Job{RW: RandRW, RWMixRead: &all, RateIOPS: 5, RateOnly: "write"}, "both reads and writes"},
		{Job{RW: RandRW, RateOnly: "write"}, "needs rate_iops or rate"},
		{Job{RW: RandRW, RateIOPS: 5, WriteRateIOPS: 5, RateOnly: "write"}, "contradicts"},
		{Job{RW: RandRW, RateIOPS: 5, RateOnly: "trim"}, "use read or write"},
	} {
		c.job.Size, c.job.IOEngine = 1<<20, Null
		if err := c.job.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.job, err, c.want)
		}
	}
}
