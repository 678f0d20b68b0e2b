package load

import (
	"math"
	"slices"
	"time"
)

// splits checks the sizes of I/Os that have several.
func (v *validator) splits(j Job) {
	for _, o := range []struct {
		name string
		all  []SizeShare
		used bool
	}{{"read_split", j.ReadSplit, j.reads()}, {"write_split", j.WriteSplit, j.writes()}} {
		if len(o.all) == 0 {
			continue
		}
		total := 0.0
		for _, s := range o.all {
			total += s.Percent
			switch {
			case s.Size < 1 || s.Size > j.maxSize():
				v.add(o.name, s.Size, "each size must be from 1 byte to 1 GiB")
				return
			case j.aligned() && s.Size%512 != 0:
				v.add(o.name, s.Size, "direct I/O needs sizes that are multiples of 512")
			case !(s.Percent > 0 && s.Percent <= 100):
				v.add(o.name, s.Percent, "each size needs a share over 0 and up to 100 percent")
			case j.Size > 0 && s.Size > j.Size:
				v.add(o.name, s.Size, "an I/O would be larger than the region, size=%d", j.Size)
			}
		}
		switch {
		case !o.used:
			v.add(o.name, len(o.all), "has no meaning with rw=%s", j.RW)
		case len(o.all) > maxSplits:
			v.add(o.name, len(o.all), "at most %d sizes", maxSplits)
		case math.Abs(total-100) > 1:
			v.add(o.name, total, "the shares have to add up to 100 percent")
		}
	}
}

// randomness checks the source of random offsets and the order of a sequential job.
func (v *validator) randomness(j Job) {
	switch {
	case j.BlockAlign < 0 || j.BlockAlign > j.maxSize():
		v.add("blockalign", j.BlockAlign, "must be from 0 (that of the smallest I/O) to 1 GiB")
	case j.BlockAlign > 0 && !j.random():
		v.add("blockalign", j.BlockAlign, "has no meaning with rw=%s, whose offsets follow one another", j.RW)
	case j.Direct && j.BlockAlign%512 != 0:
		v.add("blockalign", j.BlockAlign, "direct I/O needs a multiple of 512")
	}
	if d, err := ParseDistribution(j.Distribution); err != nil {
		v.add("random_distribution", quote(j.Distribution), "%v", err)
	} else if d.Kind != Random {
		switch {
		case !j.random():
			v.add("random_distribution", quote(j.Distribution), "has no meaning with rw=%s; use a random pattern", j.RW)
		case j.RandomMap:
			v.add("random_distribution", quote(j.Distribution), "contradicts random_map, which visits each block once a pass")
		}
	}
	for _, share := range []struct {
		name string
		p    *int
	}{{"percentage_random", j.PercentageRandom}, {"percentage_random_writes", j.PercentageRandomWrites}} {
		switch p := share.p; {
		case p == nil:
		case *p < 0 || *p > 100:
			v.add(share.name, *p, "must be a percentage from 0 to 100")
		case !j.random():
			v.add(share.name, *p, "has no meaning with rw=%s; use a random pattern", j.RW)
		}
	}
	switch {
	case j.random() && (j.RWNumber < 0 || j.RWNumber > 1<<30):
		v.add("rw", j.RWNumber, "the number after a random pattern is how many sequential I/Os follow each seek: at least 1")
	case !j.random() && j.RWNumber < 0 && -j.RWNumber > j.maxBlock()*1024:
		v.add("rw", j.RWNumber, "the number after a sequential pattern goes back too far")
	case j.Direct && !j.random() && j.RWNumber%512 != 0:
		v.add("rw", j.RWNumber, "direct I/O needs a multiple of 512 after the pattern")
	}
	if j.RandomMap && !j.random() {
		v.add("random_map", true, "has no meaning with rw=%s", j.RW)
	}
	if j.RandomMap && j.split() {
		v.add("random_map", true, "can't be kept with I/Os of several sizes; leave one of the two out")
	}
	if j.RandomMap && j.BlockAlign > 0 && j.BlockAlign != j.BS {
		v.add("random_map", true, "can't be kept with blockalign=%d, which isn't bs=%d; leave one of the two out", j.BlockAlign, j.BS)
	}
	switch {
	case !j.NoRandomMap:
	case !j.random():
		v.add("norandommap", true, "has no meaning with rw=%s", j.RW)
	case j.RandomMap:
		v.add("norandommap", true, "contradicts random_map")
	}
	if j.SharedCursor && j.random() {
		v.add("shared_cursor", true, "has no meaning with rw=%s, whose threads draw their offsets", j.RW)
	}
	v.positions(j)
	if j.Hint != "" && j.Hint != Random && j.Hint != Sequential {
		v.add("hint", quote(j.Hint), "use random or sequential")
	}
	if s := j.FileService; s != "" && !slices.Contains([]string{RoundRobin, Sequential, Random}, s) {
		v.add("file_service_type", quote(s), "use roundrobin, sequential or random")
	}
}

// positions checks how the threads of a job share its region and its files.
func (v *validator) positions(j Job) {
	switch {
	case j.StartIncrement < 0 || j.StartIncrement > math.MaxInt64/maxThreads/2:
		v.add("start_increment", j.StartIncrement, "must be from 0 to the region's size by numjobs")
	case j.StartIncrement > 0 && (j.random() || !j.WholeRegion || j.SharedCursor):
		v.add("start_increment", j.StartIncrement, "needs a sequential pattern in the whole region, where each job has a position of its own")
	case j.StartIncrement > 0 && j.RWNumber < 0 && -j.RWNumber >= j.BS:
		v.add("start_increment", j.StartIncrement, "has no meaning for a pattern that goes back")
	case j.Direct && j.StartIncrement%512 != 0:
		v.add("start_increment", j.StartIncrement, "direct I/O needs a multiple of 512")
	}
	switch {
	case !j.Parallel:
	case j.random():
		v.add("parallel", true, "has no meaning with rw=%s, which walks nothing", j.RW)
	case j.SharedCursor:
		v.add("parallel", true, "contradicts shared_cursor: each I/O in flight has a position of its own")
	case j.fileCount() > 1:
		v.add("parallel", true, "walks one file, not several")
	case j.Verify && j.writes():
		v.add("verify", true, "contradicts parallel: I/Os in flight write over each other")
	case j.RWNumber < 0 && -j.RWNumber >= j.BS:
		v.add("parallel", true, "has no meaning for a pattern that goes back")
	}
	if j.OneSequence && j.RWNumber < 0 && -j.RWNumber >= j.BS {
		v.add("one_sequence", true, "has no meaning for a pattern that goes back")
	}
	switch {
	case j.OffsetIncrement < 0:
		v.add("offset_increment", j.OffsetIncrement, "must not be negative")
	case j.Direct && j.OffsetIncrement%512 != 0:
		v.add("offset_increment", j.OffsetIncrement, "direct I/O needs a multiple of 512")
	case j.SharedCursor && j.OffsetIncrement > 0:
		v.add("offset_increment", j.OffsetIncrement, "contradicts shared_cursor: one position has one region")
	case j.OffsetIncrement > 0 && j.OffsetIncrement > math.MaxInt64/int64(maxThreads)/2:
		v.add("offset_increment", j.OffsetIncrement, "ends beyond any file")
	}
	switch {
	case !j.PerFile:
	case !j.PerJob || len(j.Files) == 0:
		v.add("per_file", true, "needs files and per_job")
	case len(j.Files)*max(j.NumJobs, 1)*max(j.IODepth, 1) > maxPerFile:
		v.add("per_file", true, "%d files, %d jobs and iodepth=%d take too many histograms; make one of them smaller", len(j.Files), j.NumJobs, j.IODepth)
	}
}

// maxPerFile is the maximum number of pairs of histograms, of 30 KiB, that PerFile may take: one for each thread and
// file. Each I/O in flight may be a thread.
const maxPerFile = 4096

// pace checks the rate and the pauses.
func (v *validator) pace(j Job) {
	switch {
	case j.RateIOPS < 0 || j.RateIOPS > 1e9:
		v.add("rate_iops", j.RateIOPS, "must be from 0 (as fast as the depth allows) to 1000000000")
	case j.Rate < 0 || j.Rate > 1<<50:
		v.add("rate", j.Rate, "must be from 0 (as fast as the depth allows) to 2^50 bytes a second")
	case j.Rate > 0 && j.RateIOPS > 0:
		v.add("rate", j.Rate, "contradicts rate_iops=%d; use one of the two", j.RateIOPS)
	}
	v.separateRates(j)
	v.rateOnly(j)
	switch j.RateProcess {
	case "", Linear:
	case Poisson:
		if j.RateIOPS == 0 && j.Rate == 0 {
			v.add("rate_process", j.RateProcess, "needs rate_iops or rate")
		}
	default:
		v.add("rate_process", quote(j.RateProcess), "use linear or poisson")
	}
	if j.RateIgnoreThinkTime && (j.ThinkTime == 0 || !j.rated()) {
		v.add("rate_ignore_thinktime", true, "needs thinktime, and rate or rate_iops")
	}
	const day = 24 * time.Hour
	switch {
	case j.ThinkTime < 0 || j.ThinkTime > day:
		v.add("thinktime", j.ThinkTime, "must be from 0 to a day")
	case j.ThinkTimeSpin < 0 || j.ThinkTimeSpin > j.ThinkTime:
		v.add("thinktime_spin", j.ThinkTimeSpin, "must be from 0 to thinktime=%v", j.ThinkTime)
	case j.ThinkTimeBlocks < 0 || j.ThinkTimeBlocks > 0 && j.ThinkTime == 0:
		v.add("thinktime_blocks", j.ThinkTimeBlocks, "must be over 0 and needs thinktime")
	}
}

// separateRates checks the separate rates of writes.
func (v *validator) separateRates(j Job) {
	for _, o := range []struct {
		name        string
		rate, reads int64
		most        int64
		of          string
	}{{"write_rate_iops", j.WriteRateIOPS, j.RateIOPS, 1e9, "rate_iops"}, {"write_rate", j.WriteRate, j.Rate, 1 << 50, "rate"}} {
		switch {
		case o.rate == 0:
		case o.rate < 0 || o.rate > o.most:
			v.add(o.name, o.rate, "must be from 0 (none of their own) to %d", o.most)
		case !j.mixed():
			v.add(o.name, o.rate, "is for rw and randrw; rw=%s has %s", j.RW, o.of)
		case o.reads <= 0:
			v.add(o.name, o.rate, "needs that of reads, %s", o.of)
		case j.RWMixRead != nil:
			v.add("rwmixread", *j.RWMixRead, "has no meaning if reads and writes have rates of their own; leave it out")
		case j.OneSequence:
			v.add("one_sequence", true, "contradicts %s: reads and writes come by their own schedules", o.name)
		}
	}
}

// rateOnly checks a rate that limits only reads or only writes.
func (v *validator) rateOnly(j Job) {
	switch {
	case j.RateOnly == "":
	case j.RateOnly != "read" && j.RateOnly != "write":
		v.add("rate_only", quote(j.RateOnly), "use read or write")
	case !j.mixed() || j.RWMixRead != nil && (*j.RWMixRead == 0 || *j.RWMixRead == 100):
		v.add("rate_only", j.RateOnly, "is for jobs with both reads and writes")
	case j.RateIOPS == 0 && j.Rate == 0:
		v.add("rate_only", j.RateOnly, "needs rate_iops or rate")
	case j.hasWriteRate():
		v.add("rate_only", j.RateOnly, "contradicts a rate of writes of their own")
	}
}

// flow checks the job's share of a flow.
func (v *validator) flow(j Job) {
	switch {
	case j.FlowWeight < 0 || j.FlowWeight > 1000:
		v.add("flow", j.FlowWeight, "a weight is from 1 to 1000")
	case j.FlowSleep < 0 || j.FlowSleep > 0 && j.FlowWeight == 0:
		v.add("flow_sleep", j.FlowSleep, "must not be negative, and needs flow")
	case j.FlowWeight > 0 && j.StartDelay > 0:
		v.add("flow", j.FlowWeight, "its jobs have to start together: leave out startdelay")
	}
}

// nodes checks the numbers of memory nodes.
func (v *validator) nodes(option string, nodes []int) {
	for _, n := range nodes {
		if n >= maxCPUs || n < 0 && (n != AllNodes || len(nodes) > 1) {
			v.add(option, n, "a memory node's number is from 0 to %d", maxCPUs-1)
		}
	}
}

// rounds checks the rounds of the window, which only the time may end.
func (v *validator) rounds(j Job) {
	switch {
	case j.Round == 0:
	case j.Round < leastRound:
		v.add("round", j.Round, "must be %v or more", leastRound)
	case j.Runtime < j.Round:
		v.add("round", j.Round, "needs a runtime of one round at least")
	case j.EndFsync || j.ByAmount() || j.CoolDown > 0:
		v.add("round", j.Round, "needs a runtime, and nothing else that ends the job: leave out end_fsync, number_ios, io_size and cooldown")
	case j.Status:
		v.add("status", true, "is not for a job with rounds")
	case j.PerJob || j.SampleEvery > 0:
		v.add("round", j.Round, "has samples of its own, and none for each job: leave out per_job and sample_every")
	}
}

// samples checks the number of samples.
func (v *validator) samples(j Job) {
	rows := int64(1)
	if j.PerJob {
		rows += int64(j.NumJobs)
	}
	if j.HistEvery < 0 || j.HistEvery > 0 && j.HistEvery < leastSample || j.MaxHists < 0 || j.MaxHists > MostHists {
		v.add("hist_every", j.HistEvery, "must be %v or more, and max_hists up to %d", leastSample, MostHists)
	}
	// If a job has another end, its runtime is only an upper bound.
	if j.SampleEvery > 0 && j.IOSize == 0 && j.NumberIOs == 0 && int64(j.Runtime/j.SampleEvery)*rows > MaxSamples {
		v.add("sample_every", j.SampleEvery, "would take more than %d samples; make it longer", MaxSamples)
	}
}
