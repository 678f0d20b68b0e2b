package fio

import (
	"time"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// unlimited is the runtime of a job that ends by itself and is not a single pass of package load.
const unlimited = 300 * 24 * time.Hour

// sampleEvery is the interval of fio's samples of bandwidth and IOPS (bwavgtime).
const sampleEvery = 500 * time.Millisecond

// loadJob translates the clone into a job of package load.
func (c *clone) loadJob(t *Test) error {
	j := c.job
	bad := func(format string, args ...any) error { return dialect.Usagef(j.where, format, args...) }
	if j.replay.log != "" {
		return c.lowerReplay(t, bad)
	}
	l := load.Job{
		RW: j.rw, RWNumber: j.rwNumber, BS: j.blockSize(), IODepth: j.iodepth, NumJobs: 1,
		Runtime: j.runtime, RampTime: j.ramp, StartDelay: c.delay(), NumberIOs: j.numberIOs,
		Direct: j.direct, Sync: j.sync, IOEngine: engines[j.ioengine],
		RateProcess: j.rateProcess, ThinkTime: j.think, ThinkTimeSpin: j.thinkSpin,
		Compress: 0, Verify: j.verify, RandSeed: c.seed(), CPUs: j.cpus,
		FileService: j.service,
	}
	if (j.trims() || j.pairs()) && l.IOEngine != load.Null {
		l.IOEngine, l.IODepth = load.PSync, 1 // fio trims synchronously with every engine.
		c.spec.Exist = workload.Must
	}
	if j.verifyOnly {
		l.RW = map[string]string{load.Write: load.Read, load.RandWrite: load.RandRead}[j.rw]
		if !j.writes() {
			l.RW = j.rw
		}
		if l.RW == "" {
			return bad("verify_only with rw=%s is not supported: the writes are not known. Use write or randwrite", j.rw)
		}
	}
	if !j.direct {
		// The stage drops the cache before the first pass, and reports whether that works.
		l.DropCache = j.invalidate && l.IOEngine != load.Null
		l.Hint = j.hint
		if j.hint == byPattern {
			l.Hint = map[bool]string{true: load.Random, false: load.Sequential}[j.random()]
		}
	}
	l.ReadSplit, l.WriteSplit = j.splits()
	if l.RW != j.rw {
		l.ReadSplit, l.WriteSplit = l.WriteSplit, nil
	}
	l.Target = c.latencyTarget()
	if err := j.priorities(&l); err != nil {
		return bad("%v", err)
	}
	if j.strided {
		l.Zones = &j.zones
	}
	if j.flow > 0 {
		l.FlowWeight, l.FlowSleep, c.spec.FlowID = j.flow, j.flowSleep, j.flowID
	}
	l.CPUNodes, l.MemPolicy, l.MemNodes = j.cpuNodes, j.memPolicy, j.memNodes
	if j.splitCPUs && len(j.cpus) > 0 {
		l.CPUs = []int{j.cpus[c.number%len(j.cpus)]}
	}
	if l.Writes() && !j.trims() {
		l.Fsync, l.FDataSync, l.EndFsync = j.fsync, j.fdatasync, j.endFsync
		if j.pairs() {
			l.Fsync, l.FDataSync = 0, 0 // As in fio.
		}
		l.SyncReads = l.Reads() && j.fsync+j.fdatasync > 0
		j.content(&l)
	}
	if j.think > 0 {
		l.ThinkTimeBlocks = j.thinkBlocks
	}
	if l.Reads() && l.Writes() {
		mix := j.mixRead
		l.RWMixRead = &mix
	}
	if j.random() {
		j.offsets(&l)
	}
	if j.verify {
		j.verification(&l)
	}
	l.ReadErrors, l.WriteErrors = j.errorsOf(0), j.errorsOf(1)
	c.rate(&l)
	l.SampleEvery = c.samples()
	c.files = c.paths()
	if c.spec.Dir = j.openDir; j.openDir != "" {
		c.files = nil
	}
	if l.IOEngine == load.Null {
		c.files = nil
		l.FileService = ""
	}
	if err := t.count(c.files, bad); err != nil {
		return err
	}
	if len(c.files) == 0 && l.IOEngine != load.Null && j.openDir == "" {
		return bad("filename=%q contains no file name", j.filename)
	}
	c.load = l
	if err := c.region(t, bad); err != nil {
		return err
	}
	c.spec.Parents = true
	if t.readonly && l.IOEngine != load.Null {
		c.spec.Exist, c.spec.Clip = workload.Must, true
	}
	return c.stageJob(bad)
}

// offsets sets how the job draws random offsets.
func (j *job) offsets(l *load.Job) {
	l.RandomMap = j.mapped()
	l.Distribution = j.distribution
	l.PercentageRandom, l.PercentageRandomWrites = j.randomShares()
	l.BlockAlign = j.blockalign.read
	if !j.blockalign.hasRead {
		l.BlockAlign = j.blockalign.write
	}
}

// verification sets the pattern of the blocks to verify, and when those of a writing job are read back.
func (j *job) verification(l *load.Job) {
	if len(j.verifyPattern) > 0 {
		l.Data, l.Pattern, l.PatternOnly = load.DataPattern, j.verifyPattern, j.patternOnly
		l.Compress, l.Dedupe = 0, 0
	}
	if j.writes() && j.doVerify && !j.verifyOnly {
		l.KeepWritten, l.VerifyBacklog, l.VerifyBacklogBatch = true, j.backlog, j.backlogBatch
		if j.backlog == 0 {
			l.VerifyBacklogBatch = 0
		}
	}
}

// content sets the data that the job writes.
func (j *job) content(l *load.Job) {
	l.Compress, l.Dedupe = j.compress, j.dedupe
	if j.refills() {
		l.Refill = load.RefillBefore
	}
	switch {
	case j.zero:
		l.Data = load.DataZero
	case len(j.pattern) > 0 && j.compress > 0:
		l.Pattern = j.pattern
	case len(j.pattern) > 0:
		l.Data, l.Pattern = load.DataPattern, j.pattern
	case !j.scramble && l.Refill == "" && !j.verify && j.compress+j.dedupe == 0:
		l.Data = load.DataFixed
	}
}

// count adds a clone's files to the totals, and refuses too many.
func (t *Test) count(files []string, bad func(string, ...any) error) error {
	if t.files += len(files); t.files > maxFiles || len(files) > maxNrFiles {
		return bad("a clone may have %d files, and a test %d", maxNrFiles, maxFiles)
	}
	for _, f := range files {
		if t.paths += len(f); len(f) > maxPath || t.paths > maxPaths {
			return bad("a path may have %d bytes, and all paths together %d", maxPath, maxPaths)
		}
	}
	return nil
}

// randomShares is percentage_random: for reads, or for all I/O, and for writes where it differs.
func (j *job) randomShares() (all, writes *int) {
	if j.percRandom == nil {
		return nil, nil
	}
	r, w := int(j.percRandom.read), int(j.percRandom.write)
	switch {
	case !j.writes():
		return &r, nil
	case !j.reads() || r == w:
		return &w, nil
	}
	return &r, &w
}

// seed is the clone's seed. With randrepeat it is the same in each run; without, Run draws it. Jobs that verify keep
// their clone's seed, so that one job can verify another's writes.
func (c *clone) seed() uint64 {
	j := c.job
	base := uint64(0x66696f)
	if j.randseed != 0 {
		base = j.randseed
	}
	if j.verify {
		return base*0x9e3779b97f4a7c15 + uint64(c.number+1)
	}
	return base*0x9e3779b97f4a7c15 + uint64(c.thread)
}

// samples is the sampling interval. steadystate needs seconds, logs have their own interval, and if the samples would
// take too much memory the interval is a whole multiple of it.
func (c *clone) samples() time.Duration {
	j := c.job
	switch {
	case j.steady.Metric != "":
		return time.Second
	case j.hasDataLogs() && j.logAvg > 0:
		return j.logAvg
	}
	return sampleEvery * (1 + j.runtime/(sampleEvery*(load.MaxSamples+1)))
}

// planned is the job as far as it is known before its files exist.
func (c *clone) planned() load.Job {
	return (&workload.StageJob{Job: c.load, IOPercent: c.spec.IOPercent, Dir: c.spec.Dir}).Planned()
}

// tooMany names the option that makes more samples than can be kept, nil if none does.
func (c *clone) tooMany(bad func(string, ...any) error) error {
	j, l := c.job, c.planned()
	if l.IOSize > 0 || l.NumberIOs > 0 || l.Runtime/l.SampleEvery <= load.MaxSamples {
		return nil
	}
	longest := load.MaxSamples * l.SampleEvery
	if j.steady.Metric != "" {
		return bad("steadystate needs a runtime of at most %.1f days", longest.Hours()/24)
	}
	return bad("log_avg_msec=%d makes more than %d lines in the runtime; make it %d or more", j.logAvg.Milliseconds(), load.MaxSamples,
		(j.runtime.Milliseconds()+load.MaxSamples-1)/load.MaxSamples)
}

// stageJob completes the stage's job and validates it.
func (c *clone) stageJob(bad func(string, ...any) error) error {
	j, spec := c.job, &c.spec
	spec.Name = j.name
	spec.Remove, spec.FilesOnly = j.unlink, j.createOnly
	spec.Invalidate, spec.PreRead = j.invalidate && !j.direct, j.preRead && c.load.IOEngine != load.Null
	spec.Least = c.leastRate()
	if j.steady.Metric != "" {
		spec.Steady = &workload.SteadyEnd{Criterion: j.steady, Window: int(j.ssDur / time.Second), Ramp: int(j.ssRamp / time.Second)}
		if j.group {
			spec.Steady.Group = c.group + 1
		}
	}
	c.setFiles(c.files)
	c.load.AnyAlign = c.load.Direct && !c.sectors()
	if err := c.tooMany(bad); err != nil {
		return err
	}
	if err := c.planned().Validate(); err != nil {
		return c.refuse(err)
	}
	if c.load.KeepWritten {
		if err := c.canReadBack(); err != nil {
			return err
		}
	}
	if spec.SizePercent == 0 && c.load.Size == 0 && c.spec.IOPercent > 0 && c.load.IOEngine == load.Null {
		return bad("the null engine has no file; give a size")
	}
	spec.Job = c.load
	return nil
}

// setFiles sets the job's files.
func (c *clone) setFiles(files []string) {
	l := &c.load
	l.Filename, l.Files = "", nil
	switch {
	case len(files) == 1:
		l.Filename, l.FileService = files[0], ""
	case len(files) > 1:
		l.Files = files
	}
}
