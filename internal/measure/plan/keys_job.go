package plan

import (
	"time"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/limit"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// Bounds of block jobs.
const (
	maxDepth64 = 4096
	maxJobs    = 256
	maxBlock   = 1 << 30
	maxFile    = int64(1) << 50
	maxCount   = 100_000_000
)

// jobFields is the table of the keys of block jobs, in fio's words.
func jobFields() []strict.Field[workload.Spec] {
	type W = workload.Spec
	return []strict.Field[W]{
		strict.Must(strict.Key("rw", "The pattern.", strict.Choice(load.Read, load.Write, load.RandRead, load.RandWrite, load.RW, load.RandRW), func(w *W) *string { return &w.Job.RW })),
		strict.Key("bs", "Bytes of one I/O. Default: 4KiB.", strict.Size(1, maxBlock), func(w *W) *int64 { return &w.Job.BS }),
		strict.Key("iodepth", "I/Os in flight for each of numjobs threads. Default: 1.", strict.Integer(1, maxDepth64), func(w *W) *int { return &w.Job.IODepth }),
		strict.Key("numjobs", "Threads that do the job. Default: 1.", strict.Integer(1, maxJobs), func(w *W) *int { return &w.Job.NumJobs }),
		strict.Key("whole_region", "Each of numjobs threads does the whole region, as fio's clones do. Default: false; each does its slice of a pass.", strict.Boolean(), func(w *W) *bool { return &w.Job.WholeRegion }),
		strict.Key("offset_increment", "Moves the region of each of numjobs threads by that many bytes from the one before; each does its whole region. Default: 0.", strict.Size(1, maxFile), func(w *W) *int64 { return &w.Job.OffsetIncrement }),
		strict.Key("rw_number", "The number behind fio's rw: bytes that a sequential pattern leaves out after each I/O (below 0: goes back), or how many I/Os of a random one follow one another. Default: 0.", strict.Integer[int64](-maxBlock, maxBlock), func(w *W) *int64 { return &w.Job.RWNumber }),
		strict.Must(strict.Key("size", "Bytes of the file that are used; it is laid out first.", strict.Size(1, maxFile), func(w *W) *int64 { return &w.Job.Size })),
		strict.Key("files", "How many files of that size the job has. Default: 1.", strict.Integer(1, workload.MaxFiles), func(w *W) *int { return &w.Files }),
		strict.Key("file_service_type", "The order in which it goes through them. Default: roundrobin.", strict.Choice(load.RoundRobin, load.Sequential, load.Random), func(w *W) *string { return &w.Job.FileService }),
		strict.Key("fresh", "Makes the file anew in each trial, and lets it grow as it is written, as dd does. Default: false, it is laid out before.", strict.Boolean(), func(w *W) *bool { return &w.Fresh }),
		strict.Key("offset", "Where in the file the job begins. Default: 0.", strict.Size(0, maxFile), func(w *W) *int64 { return &w.Job.Offset }),
		strict.Key("runtime", "The measured time. Default: until as many I/Os were done as size has blocks; each block is touched once, but for rw, whose reads and writes both begin at the start.", strict.Duration(time.Millisecond, maxTime), func(w *W) *time.Duration { return &w.Job.Runtime }),
		strict.Key("ramp_time", "Unmeasured time before it. Default: 0.", strict.Duration(0, maxTime), func(w *W) *time.Duration { return &w.Job.RampTime }),
		strict.Key("number_ios", "Ends the job after that many measured I/Os. Default: no such end.", strict.Integer[int64](1, 1<<53), func(w *W) *int64 { return &w.Job.NumberIOs }),
		strict.Key("direct", "Asks for O_DIRECT. Default: false, which measures the page cache.", strict.Boolean(), func(w *W) *bool { return &w.Job.Direct }),
		strict.Key("sync", "Opens the file with O_SYNC or O_DSYNC. Default: neither.", strict.Choice("sync", "dsync"), func(w *W) *string { return &w.Job.Sync }),
		strict.Key("fsync", "Syncs the file after every that many writes. Default: never.", strict.Integer(1, maxCount), func(w *W) *int { return &w.Job.Fsync }),
		strict.Key("fdatasync", "Like fsync, with fdatasync.", strict.Integer(1, maxCount), func(w *W) *int { return &w.Job.FDataSync }),
		strict.Key("end_fsync", "Syncs the file once at the end, inside the measured time. Default: false.", strict.Boolean(), func(w *W) *bool { return &w.Job.EndFsync }),
		strict.Key("io_size", "Ends each thread after that many measured bytes, in place of one pass. Default: no such end.", strict.Size(1, maxFile), func(w *W) *int64 { return &w.Job.IOSize }),
		strict.Key("bssplit", "I/Os of several sizes, each with its percentage, such as 4KiB/60:64KiB/40; behind a comma those of the writes of a mixed job. Default: all are bs.", splits{}, func(w *W) *load.Job { return &w.Job }),
		strict.Key("bsrange", "I/Os of all multiples of the smaller size up to the larger, equally often, such as 4KiB-64KiB; another word for such a bssplit. Default: all are bs.", sizeRange{}, func(w *W) *load.Job { return &w.Job }),
		strict.Key("blockalign", "What random offsets are multiples of. Default: bs, or the least size of bssplit.", strict.Size(1, maxBlock), func(w *W) *int64 { return &w.Job.BlockAlign }),
		strict.Key("loops", "How often the region is gone through, without runtime. Default: once.", strict.Integer[int64](1, maxCount), func(w *W) *int64 { return &w.Job.Loops }),
		strict.Key("rwmixread", "Percentage of reads of rw and randrw. Default: 50.", strict.Percent(), func(w *W) **int { return &w.Job.RWMixRead }),
		strict.Key("rate_iops", "I/Os per second of each thread, on a fixed schedule. Default: as fast as iodepth allows.", strict.Integer[int64](1, 1<<32), func(w *W) *int64 { return &w.Job.RateIOPS }),
		strict.Key("rate", "Bytes per second of each thread, on a fixed schedule, in place of rate_iops.", strict.Rate(1, limit.MaxBPS), func(w *W) *int64 { return &w.Job.Rate }),
		strict.Key("write_rate_iops", "The writes' I/Os per second in a mixed job, whose rate_iops then is that of the reads. Default: one schedule for both.", strict.Integer[int64](1, 1<<32), func(w *W) *int64 { return &w.Job.WriteRateIOPS }),
		strict.Key("write_rate", "The same in bytes per second, beside rate.", strict.Rate(1, limit.MaxBPS), func(w *W) *int64 { return &w.Job.WriteRate }),
		strict.Key("rate_only", "Holds only the reads or the writes of a mixed job to rate_iops or rate, while the others go as fast as iodepth allows: a closed loop. Default: all.", strict.Choice("read", "write"), func(w *W) *string { return &w.Job.RateOnly }),
		strict.Key("rate_ignore_thinktime", "Delays the schedule by each pause. Default: false, I/Os due in a pause are made up for.", strict.Boolean(), func(w *W) *bool { return &w.Job.RateIgnoreThinkTime }),
		strict.Key("rate_process", "How the I/Os of rate_iops or rate arrive. Default: linear, evenly.", strict.Choice(load.Linear, load.Poisson), func(w *W) *string { return &w.Job.RateProcess }),
		strict.Key("random_distribution", "How often the blocks of a random pattern are visited, such as zipf:1.1, pareto:0.2, normal:10 or zoned:60/10:40/90. Default: random, all alike.", distribution(), func(w *W) *string { return &w.Job.Distribution }),
		strict.Key("percentage_random", "Percentage of a random pattern's I/Os that go to a random offset; the others follow the one before. Default: 100.", strict.Percent(), func(w *W) **int { return &w.Job.PercentageRandom }),
		strict.Key("random_map", "Visits each block once before any comes twice, as fio does without norandommap. Default: false with runtime; a job of one pass always does.", strict.Boolean(), func(w *W) *bool { return &w.Job.RandomMap }),
		strict.Key("norandommap", "Draws the offsets of a job without runtime from the whole region, so that blocks may come twice. Default: false, each block comes once.", strict.Boolean(), func(w *W) *bool { return &w.Job.NoRandomMap }),
		strict.Key("thinktime", "How long a thread pauses after thinktime_blocks I/Os, when those in flight are complete. Default: 0.", strict.Duration(time.Microsecond, maxTime), func(w *W) *time.Duration { return &w.Job.ThinkTime }),
		strict.Key("thinktime_blocks", "After how many I/Os it pauses. Default: 1.", strict.Integer[int64](1, maxCount), func(w *W) *int64 { return &w.Job.ThinkTimeBlocks }),
		strict.Key("thinktime_spin", "How much of the pause it computes. Default: 0.", strict.Duration(time.Microsecond, maxTime), func(w *W) *time.Duration { return &w.Job.ThinkTimeSpin }),
		strict.Key("zero_buffers", "Writes zeros, which storage may keep as nothing. Default: false.", zeros(), func(w *W) *string { return &w.Job.Data }),
		strict.Key("buffer_pattern", "What is written, over and over in each block: bytes such as 0xdeadbeef, or a text. Default: data that can't be compressed.", pattern{}, func(w *W) *load.Job { return &w.Job }),
		strict.Key("buffer_compress_percentage", "Percentage of each written block that is zeros. Default: 0, which can't be compressed.", strict.Integer(0, 100), func(w *W) *int { return &w.Job.Compress }),
		strict.Key("dedupe_percentage", "Percentage of the writes that repeat one block. Default: 0.", strict.Integer(0, 100), func(w *W) *int { return &w.Job.Dedupe }),
		strict.Key("verify", "Stamps each block with its offset and a checksum. Reads are checked as they complete; the writes of one pass are read back after the measured time. Default: neither.", verify(), func(w *W) *bool { return &w.Job.Verify }),
		strict.Key("steady_state", "Goes on until five rounds are steady, at most for runtime, and measures these only. Default: all of runtime is measured.", steadyState{}, func(w *W) *workload.SteadyState { return &w.Steady }),
		strict.Key("io_engine", "What submits this job's I/O, in place of the plan's io_engine. Default: the plan's.", strict.Choice(load.IOUring, load.LinuxAIO, load.PSync, load.MMap, load.Null), func(w *W) *string { return &w.Job.IOEngine }),
		strict.Key("cpus_allowed", "Processors that the threads may run on, such as 0-3,5. Default: all that the worker may use.", processors(), func(w *W) *[]int { return &w.Job.CPUs }),
		strict.Key("randseed", "Makes offsets and data repeatable. Default: a fixed seed.", strict.Seed(), func(w *W) *uint64 { return &w.Job.RandSeed }),
	}
}
