package plan

import (
	"time"

	"plimsoll/internal/measure/steady"
	"plimsoll/internal/text/size"
	"plimsoll/load"
)

// rate refuses schedules on which no I/O is due in time, and pauses as long as the job.
func (c *jobCheck) rate() {
	j := c.job
	if j.RateIOPS == 0 && j.Rate == 0 && j.RateProcess != "" {
		c.fail("rate_process", "has no effect without rate_iops or rate: leave it out, or set both")
	}
	if j.Runtime == 0 {
		return
	}
	if every := dueEvery(j); j.Runtime < every {
		key := "rate_iops"
		if j.Rate > 0 {
			key = "rate"
		}
		c.fail(key, "is one I/O every %s, but the job runs for only %s: raise %s, or make runtime %s or more",
			size.Duration(every), size.Duration(j.Runtime), key, size.Duration(every))
	}
	if j.ThinkTime >= j.Runtime {
		c.fail("thinktime", "is as long as the job runs (%s): it would do %s and then nothing; make runtime longer", size.Duration(j.Runtime), many(max(j.ThinkTimeBlocks, 1), "I/O"))
	}
}

// randomness refuses settings that have no effect on a job that visits each block once.
func (c *jobCheck) randomness() {
	j := c.job
	random := j.RW == load.RandRead || j.RW == load.RandWrite || j.RW == load.RandRW
	if !random {
		return // Package load reports settings that have no effect then.
	}
	// With several sizes, or a distribution, there is no map of visited blocks.
	repeats := len(j.ReadSplit)+len(j.WriteSplit) > 0 || j.Distribution != "" || j.BlockAlign > 0 && j.BlockAlign != j.BS
	if j.NoRandomMap && (j.Runtime > 0 || repeats) {
		c.fail("norandommap", "has no effect with runtime, bssplit, blockalign or random_distribution, whose offsets repeat anyway: leave it out")
	}
	mapped := !j.NoRandomMap && (j.RandomMap || j.Runtime == 0) && len(j.ReadSplit)+len(j.WriteSplit) == 0 && j.Distribution == ""
	switch {
	case !mapped:
	case j.RandomMap && j.Runtime == 0:
		c.fail("random_map", "has no effect without runtime: such a job visits each block once anyway; leave it out")
	case j.BlockAlign > 0:
		c.fail("blockalign", "has no effect on a job that visits each block once: set runtime, and leave out random_map")
	case j.PercentageRandom != nil && *j.PercentageRandom < 100:
		c.fail("percentage_random", "contradicts a job that visits each block once, in random order: set runtime, and leave out random_map")
	}
}

// verified refuses checks of data that may differ from the stamps.
func (c *jobCheck) verified() {
	j := c.job
	if !j.Verify {
		return
	}
	switch {
	case j.RW == load.RW || j.RW == load.RandRW:
		c.fail("verify", "of %s would read blocks that are just being written: use a job that only reads or only writes", j.RW)
	case j.Reads():
	case j.NumJobs > 1 && parts(j) == 1:
		c.fail("verify", "reads back one thread's writes, and others may have overwritten them: leave out whole_region and offset_increment")
	case j.Runtime > 0 || j.NumberIOs > 0 || j.Loops > 1:
		c.fail("verify", "reads back the writes, and finds a lost write only if each block is written once: leave out runtime, number_ios, io_size and loops")
	case len(j.WriteSplit) > 0 || j.Distribution != "" || j.BlockAlign > 0:
		c.fail("verify", "reads back the whole region, but bssplit, blockalign and random_distribution leave parts of it unwritten: leave these out")
	}
}

// maxRounds bounds the rounds of a job with a steady state.
const maxRounds = 10_000

// steady refuses a steady state that can't be found, or that doesn't decide when the job ends.
func (c *jobCheck) steady() {
	j := c.job
	switch {
	case c.round == 0:
	case j.Runtime == 0:
		c.fail("steady_state", "needs runtime: the longest time that it may take to get steady")
	case j.NumberIOs > 0 || j.EndFsync:
		c.fail("steady_state", "ends the job, and so do number_ios, io_size and end_fsync: leave them out")
	case j.Runtime < steady.WindowRounds*c.round:
		c.fail("steady_state", "%d rounds of %s take %s, but runtime, the longest time, is %s: make the round shorter or runtime longer",
			steady.WindowRounds, size.Duration(c.round), size.Duration(steady.WindowRounds*c.round), size.Duration(j.Runtime))
	case j.Runtime > maxRounds*c.round:
		c.fail("steady_state", "a round of %s gives more than %d rounds in a runtime of %s: make the round longer", size.Duration(c.round), maxRounds, size.Duration(j.Runtime))
	case dueEvery(j) > c.round:
		c.fail("steady_state", "at this rate not every round of %s has an I/O: make the round %s or more", size.Duration(c.round), size.Duration(dueEvery(j)))
	}
}

// dueEvery is the mean time between two I/Os of a thread's schedule, 0 if it has none.
func dueEvery(j load.Job) time.Duration {
	if n := j.Offered(); n > 0 {
		return seconds(float64(max(j.NumJobs, 1)) / n)
	}
	return 0
}

// seconds is a time of n seconds, maxTime if it is more.
func seconds(n float64) time.Duration {
	if n > maxTime.Seconds() {
		return maxTime
	}
	return time.Duration(n * float64(time.Second))
}

// endsAfter is the number of I/Os after which number_ios or io_size ends each thread of a job, whichever comes first; 0 if
// neither is set.
func endsAfter(j load.Job) int64 {
	n := j.NumberIOs
	if j.IOSize > 0 {
		_, mean, _ := j.BlockSizes()
		bySize := max(j.IOSize/max(mean, 1), 1) * max(j.Loops, 1)
		if n == 0 || bySize < n {
			n = bySize
		}
	}
	return n
}

// passIOs is about how many I/Os a thread does in a job that ends by a count or by passes.
func passIOs(j load.Job) int64 {
	if n := endsAfter(j); n > 0 {
		return n
	}
	_, mean, _ := j.BlockSizes()
	return j.Size / max(mean, 1) / parts(j) * max(j.Loops, 1)
}

// scheduled is how long a job takes by its rate and its pauses alone, 0 if that is not known.
func scheduled(j load.Job) time.Duration {
	ios, open := float64(passIOs(j)), j
	if open.RateOnly = ""; j.RateOnly != "" && j.RWMixRead != nil {
		// In a mixed job, only the reads or only the writes have a rate.
		share := float64(*j.RWMixRead)
		if j.RateOnly == "write" {
			share = 100 - share
		}
		ios *= share / 100
	}
	took := seconds(ios * dueEvery(open).Seconds())
	// The job doesn't wait for the pause after the last I/O.
	return max(took, seconds((ios-1)/float64(max(j.ThinkTimeBlocks, 1))*j.ThinkTime.Seconds()))
}
