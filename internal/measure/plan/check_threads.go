package plan

import (
	"time"

	"plimsoll/internal/text/size"
	"plimsoll/load"
)

// threads refuses settings that don't change the regions of a job's threads.
func (c *jobCheck) threads() {
	j := c.job
	random := j.RW == load.RandRead || j.RW == load.RandWrite || j.RW == load.RandRW
	switch {
	case j.NumJobs == 1 && j.WholeRegion:
		c.fail("whole_region", "has no effect without numjobs: one thread does the whole region; leave it out")
	case j.NumJobs == 1 && j.OffsetIncrement > 0:
		c.fail("offset_increment", "has no effect without numjobs: leave it out, or set numjobs")
	case j.WholeRegion && j.OffsetIncrement > 0:
		c.fail("whole_region", "has no effect with offset_increment, which gives each thread a whole region: leave it out")
	case j.WholeRegion && random && j.Runtime > 0:
		c.fail("whole_region", "has no effect on random offsets with runtime, which all threads draw from the whole region: leave it out")
	}
}

// several refuses settings that mean nothing for one file, or can't hold for several.
func (c *jobCheck) several() {
	switch j := c.job; {
	case c.files == 1 && j.FileService != "":
		c.fail("file_service_type", "has no effect on one file: leave it out, or set files")
	case c.files > 1 && j.Verify:
		c.fail("verify", "looks at one file: leave out files")
	case c.files > 1 && c.set("fresh"):
		c.fail("fresh", "makes one file: leave out files")
	case c.files > 1 && j.Size > maxFile/c.files:
		c.fail("files", "of %s each take more than %s", size.Format(j.Size), size.Format(maxFile))
	}
}

// parts is the number of slices that the threads of a job cut its region into for a pass.
func parts(j load.Job) int64 {
	if j.WholeRegion || j.OffsetIncrement > 0 {
		return 1
	}
	return int64(max(j.NumJobs, 1))
}

// slowBytes is the layout rate in bytes per second that FitTimeout assumes of a slow disk.
const slowBytes = 50e6

// slower is the factor by which a job that ends by a count may take longer on a slow disk than Estimate assumes.
const slower = 10

// FitTimeout raises the timeout to the time that the plan's workloads may take on a slow disk, with the layout of their
// files.
func (p *Plan) FitTimeout() {
	for _, w := range p.Workloads {
		t := measured(w)
		if w.Job.Runtime == 0 {
			t = max(t, seconds(slower*works(w)))
		}
		p.Timeout = max(p.Timeout, roomy(t+seconds(float64(w.FileBytes())/slowBytes)))
	}
}

// roomy is a timeout for a trial that works for t: a little longer, in whole minutes.
func roomy(t time.Duration) time.Duration {
	return min((t+DefaultTimeout/2).Truncate(time.Minute)+time.Minute, maxTime)
}
