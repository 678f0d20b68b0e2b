package plan

import (
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/size"
	"plimsoll/internal/workload"
	"plimsoll/load"
)

// A jobCheck looks for contradictions in one block job. A job that would not do what it says
// is refused: its figure would be taken for that of another job.
type jobCheck struct {
	d    *decoder
	path string
	// job has its defaults filled in.
	job load.Job
	// failed are the keys that have a fault already.
	failed map[string]bool
}

// checkJob refuses block jobs whose settings contradict each other.
func checkJob(d *decoder, path string, w *workload.Spec) {
	c := jobCheck{d: d, path: path, job: w.Job.WithDefaults(), failed: map[string]bool{}}
	j := &c.job
	c.sizes()
	j.NumberIOs = endsAfter(*j)
	if j.Size/j.BS >= int64(j.NumJobs) {
		c.onePass()
	}
	c.mix()
	c.syncs()
	c.rate()
	c.generator()
}

// fail adds a fault to a key of the job.
func (c *jobCheck) fail(key, format string, args ...any) {
	c.failed[key] = true
	c.d.fail(join(c.path, key), format, args...)
}

func (c *jobCheck) sizes() {
	j := c.job
	if j.Size < j.BS {
		c.fail("size", "is smaller than one I/O (bs is %d bytes): make it %d or more", j.BS, j.BS)
	}
	// Direct I/O works on whole logical blocks, which are 512 bytes at least.
	if j.Direct && j.BS%512 != 0 {
		c.fail("bs", "direct I/O needs a multiple of 512 bytes: change bs, or set direct to false")
	}
	if j.Direct && j.Offset%512 != 0 {
		c.fail("offset", "direct I/O needs a multiple of 512 bytes: change offset, or set direct to false")
	}
	if j.IOSize > 0 && j.IOSize < j.BS {
		c.fail("io_size", "is smaller than one I/O (bs is %d bytes): make it %d or more", j.BS, j.BS)
	}
	if j.Offset > maxFile-j.Size {
		c.fail("offset", "with size %s the file would be larger than %s", size.Format(j.Size), size.Format(maxFile))
	}
}

// onePass refuses a depth that is never reached, since the job ends when every block was
// touched once. A job with an end of its own begins anew at the end of the region.
func (c *jobCheck) onePass() {
	j := c.job
	if j.Runtime > 0 || j.NumberIOs > 0 {
		return
	}
	if blocks := j.Size / j.BS / int64(j.NumJobs); blocks < int64(j.IODepth) {
		c.fail("iodepth", "%d I/Os are never in flight: without runtime a thread does its %s once; give it a runtime, or make size %s or more",
			j.IODepth, many(blocks, "block"), size.Format(j.BS*int64(j.IODepth)*int64(j.NumJobs)))
	}
}

// mix refuses a mixture of what isn't mixed.
func (c *jobCheck) mix() {
	if j := c.job; j.RW != load.RW && j.RW != load.RandRW && j.RWMixRead != nil {
		c.fail("rwmixread", "has no effect on %s: leave it out, or set rw to rw or randrw", j.RW)
	}
}

// syncs refuses those that sync nothing, or what is synced already.
func (c *jobCheck) syncs() {
	j := c.job
	set := func(key string) bool { return c.d.has(join(c.path, key)) && (key != "end_fsync" || j.EndFsync) }
	all := j.RWMixRead != nil && *j.RWMixRead == 100 && (j.RW == load.RW || j.RW == load.RandRW)
	switch {
	case j.RW == load.Read || j.RW == load.RandRead:
		for _, key := range []string{"sync", "fsync", "fdatasync", "end_fsync"} {
			if set(key) {
				c.fail(key, "has no effect on %s: leave it out", j.RW)
			}
		}
		return
	case all:
		for _, key := range []string{"sync", "fsync", "fdatasync", "end_fsync"} {
			if set(key) {
				c.fail(key, "has no effect with rwmixread 100, which writes nothing: leave it out")
			}
		}
		return
	}
	// O_SYNC commits data and metadata of each write, O_DSYNC what fdatasync does
	// (open(2)).
	synced := map[string][]string{"sync": {"fsync", "fdatasync", "end_fsync"}, "dsync": {"fdatasync"}}
	for _, key := range synced[j.Sync] {
		if set(key) {
			c.fail(key, "has no effect with sync: %s, which commits every write already: leave out one of the two", j.Sync)
		}
	}
	for key, every := range map[string]int{"fsync": j.Fsync, "fdatasync": j.FDataSync} {
		if most := c.mostWrites(); int64(every) > most {
			c.fail(key, "never happens: a thread does %s at most; make it %d or less, or use end_fsync", many(most, "write"), most)
		}
	}
}

// mostWrites bounds the writes of a thread.
func (c *jobCheck) mostWrites() int64 {
	j := c.job
	switch {
	case j.NumberIOs > 0:
		// Those of ramp_time are written and synced too.
		if j.RampTime == 0 {
			return j.NumberIOs
		}
	case j.Runtime == 0 && j.RampTime == 0:
		return max(j.Size/j.BS/int64(j.NumJobs), 1)
	}
	return maxCount
}

// rate refuses schedules on which nothing is due in time.
func (c *jobCheck) rate() {
	j := c.job
	if j.RateIOPS == 0 && j.RateProcess != "" {
		c.fail("rate_process", "has no effect without rate_iops: leave it out, or set both")
	}
	if j.RateIOPS == 0 || j.Runtime == 0 {
		return
	}
	if every := time.Second / time.Duration(j.RateIOPS); j.Runtime < every {
		c.fail("rate_iops", "is one I/O every %s, but the job runs for %s only: raise rate_iops, or make runtime %s or more",
			size.Duration(every), size.Duration(j.Runtime), size.Duration(every))
	}
}

// generator asks the load generator, which knows bounds of its own.
func (c *jobCheck) generator() {
	j := c.job
	j.Filename = "file" // The worker's; it is not in the plan.
	for _, err := range leaves(j.Validate()) {
		var fault *load.OptionError
		if errors.As(err, &fault) && !c.failed[fault.Option] {
			c.fail(fault.Option, "%s", fault.Text)
		}
	}
}

// leaves lists the errors that were joined into one.
func leaves(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// endsAfter is after how many I/Os each thread of a job ends by number_ios or io_size, whichever comes
// first; 0 if neither is set.
func endsAfter(j load.Job) int64 {
	n := j.NumberIOs
	if j.IOSize > 0 {
		bySize := max(j.IOSize/max(j.BS, 1), 1)
		if n == 0 || bySize < n {
			n = bySize
		}
	}
	return n
}

// scheduled is how long a job takes by rate_iops alone, 0 if that is not known.
func scheduled(j load.Job) time.Duration {
	if j.RateIOPS == 0 {
		return 0
	}
	ios := endsAfter(j)
	if ios == 0 {
		ios = j.Size / max(j.BS, 1) / int64(max(j.NumJobs, 1))
	}
	seconds := float64(ios) / float64(j.RateIOPS)
	if seconds > maxTime.Seconds() {
		return maxTime
	}
	return time.Duration(seconds * float64(time.Second))
}

// many is a number of things in words.
func many(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
