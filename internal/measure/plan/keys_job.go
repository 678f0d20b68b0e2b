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
		strict.Key("whole_region", "Each of numjobs threads works on the whole region, as fio's clones do. Default: false; each works on its slice of it.", strict.Boolean(), func(w *W) *bool { return &w.Job.WholeRegion }),
		strict.Key("offset_increment", "Each of numjobs threads works on a region of its own, which begins that many bytes after the one before. Default: 0.", strict.Size(1, maxFile), func(w *W) *int64 { return &w.Job.OffsetIncrement }),
		strict.Key("rw_number", "The number after fio's rw. Sequential: bytes to skip after each I/O (below 0: to go back). Random: how many sequential I/Os follow each seek. Default: 0.", strict.Integer[int64](-maxBlock, maxBlock), func(w *W) *int64 { return &w.Job.RWNumber }),
		strict.Must(strict.Key("size", "How many bytes of the file are used; it is laid out first.", strict.Size(1, maxFile), func(w *W) *int64 { return &w.Job.Size })),
		strict.Key("files", "How many files of that size the job has. Default: 1.", strict.Integer(1, workload.MaxFiles), func(w *W) *int { return &w.Files }),
		strict.Key("file_service_type", "The order in which the job uses its files. Default: roundrobin.", strict.Choice(load.RoundRobin, load.Sequential, load.Random), func(w *W) *string { return &w.Job.FileService }),
		strict.Key("fresh", "Creates the file anew in each trial, and lets it grow as it is written, as dd does. Default: false, it is laid out before.", strict.Boolean(), func(w *W) *bool { return &w.Fresh }),
		strict.Key("offset", "Where in the file the job begins. Default: 0.", strict.Size(0, maxFile), func(w *W) *int64 { return &w.Job.Offset }),
		strict.Key("runtime", "The measured time. Default: until as many I/Os were done as size has blocks, each block once (for rw, reads and writes both begin at the start).", strict.Duration(time.Millisecond, maxTime), func(w *W) *time.Duration { return &w.Job.Runtime }),
		strict.Key("ramp_time", "Unmeasured time before it. Default: 0.", strict.Duration(0, maxTime), func(w *W) *time.Duration { return &w.Job.RampTime }),
		strict.Key("number_ios", "Ends the job after that many measured I/Os. Default: no such end.", strict.Integer[int64](1, 1<<53), func(w *W) *int64 { return &w.Job.NumberIOs }),
		strict.Key("direct", "Asks for O_DIRECT. Default: false, which measures the page cache.", strict.Boolean(), func(w *W) *bool { return &w.Job.Direct }),
		strict.Key("sync", "Opens the file with O_SYNC or O_DSYNC. Default: neither.", strict.Choice("sync", "dsync"), func(w *W) *string { return &w.Job.Sync }),
		strict.Key("fsync", "Syncs the file after every that many writes. Default: never.", strict.Integer(1, maxCount), func(w *W) *int { return &w.Job.Fsync }),
		strict.Key("fdatasync", "Like fsync, with fdatasync.", strict.Integer(1, maxCount), func(w *W) *int { return &w.Job.FDataSync }),
		strict.Key("end_fsync", "Syncs the file once at the end, inside the measured time. Default: false.", strict.Boolean(), func(w *W) *bool { return &w.Job.EndFsync }),
		strict.Key("io_size", "Ends each thread after that many measured bytes, instead of after one pass. Default: no such end.", strict.Size(1, maxFile), func(w *W) *int64 { return &w.Job.IOSize }),
		strict.Key("bssplit", "Sizes of I/Os, each with its percentage, such as 4KiB/60:64KiB/40; after a comma, the sizes of the writes of a mixed job. Default: bs for all.", splits{}, func(w *W) *load.Job { return &w.Job }),
		strict.Key("bsrange", "Sizes of I/Os such as 4KiB-64KiB: all multiples of the smaller size up to the larger, equally often. It is short for a bssplit. Default: bs for all.", sizeRange{}, func(w *W) *load.Job { return &w.Job }),
		strict.Key("blockalign", "What random offsets are multiples of. Default: bs, or the least size of bssplit.", strict.Size(1, maxBlock), func(w *W) *int64 { return &w.Job.BlockAlign }),
		strict.Key("loops", "How many passes over the region a job without runtime does. Default: one.", strict.Integer[int64](1, maxCount), func(w *W) *int64 { return &w.Job.Loops }),
		strict.Key("rwmixread", "Percentage of reads of rw and randrw. Default: 50.", strict.Percent(), func(w *W) **int { return &w.Job.RWMixRead }),
		strict.Key("rate_iops", "I/Os per second of each thread, on a fixed schedule. Default: as fast as iodepth allows.", strict.Integer[int64](1, 1<<32), func(w *W) *int64 { return &w.Job.RateIOPS }),
		strict.Key("rate", "Bytes per second of each thread, on a fixed schedule, in place of rate_iops.", strict.Rate(1, limit.MaxBPS), func(w *W) *int64 { return &w.Job.Rate }),
		strict.Key("write_rate_iops", "Writes per second in a mixed job, whose rate_iops is then that of the reads. Default: one schedule for both.", strict.Integer[int64](1, 1<<32), func(w *W) *int64 { return &w.Job.WriteRateIOPS }),
		strict.Key("write_rate", "Bytes written per second in a mixed job, whose rate is then that of the reads.", strict.Rate(1, limit.MaxBPS), func(w *W) *int64 { return &w.Job.WriteRate }),
		strict.Key("rate_only", "Applies rate_iops or rate only to the reads or the writes of a mixed job; the others go as fast as iodepth allows, in a closed loop. Default: to all.", strict.Choice("read", "write"), func(w *W) *string { return &w.Job.RateOnly }),
		strict.Key("rate_ignore_thinktime", "Delays the schedule by each pause. Default: false, I/Os due in a pause are done after it.", strict.Boolean(), func(w *W) *bool { return &w.Job.RateIgnoreThinkTime }),
		strict.Key("rate_process", "How the I/Os of rate_iops or rate arrive. Default: linear, evenly.", strict.Choice(load.Linear, load.Poisson), func(w *W) *string { return &w.Job.RateProcess }),
		strict.Key("random_distribution", "The distribution of random offsets, such as zipf:1.1, pareto:0.2, normal:10 or zoned:60/10:40/90. Default: random, which is uniform.", distribution(), func(w *W) *string { return &w.Job.Distribution }),
		strict.Key("percentage_random", "Percentage of a random pattern's I/Os that go to a random offset; the others continue where the last one ended. Default: 100.", strict.Percent(), func(w *W) **int { return &w.Job.PercentageRandom }),
		strict.Key("random_map", "Visits each block once before it visits any twice, as fio does without norandommap. Default: false with runtime; a job of one pass always does.", strict.Boolean(), func(w *W) *bool { return &w.Job.RandomMap }),
		strict.Key("norandommap", "Draws the offsets of a job without runtime from the whole region, so that it may visit blocks twice. Default: false, it visits each block once.", strict.Boolean(), func(w *W) *bool { return &w.Job.NoRandomMap }),
		strict.Key("thinktime", "How long a thread pauses after thinktime_blocks I/Os, once all in flight are complete. Default: 0.", strict.Duration(time.Microsecond, maxTime), func(w *W) *time.Duration { return &w.Job.ThinkTime }),
		strict.Key("thinktime_blocks", "After how many I/Os a thread pauses. Default: 1.", strict.Integer[int64](1, maxCount), func(w *W) *int64 { return &w.Job.ThinkTimeBlocks }),
		strict.Key("thinktime_spin", "The part of the pause in which the thread keeps its CPU busy. Default: 0.", strict.Duration(time.Microsecond, maxTime), func(w *W) *time.Duration { return &w.Job.ThinkTimeSpin }),
		strict.Key("zero_buffers", "Writes zeros, which some storage doesn't store. Default: false.", zeros(), func(w *W) *string { return &w.Job.Data }),
		strict.Key("buffer_pattern", "The bytes that each written block repeats, such as 0xdeadbeef, or a text. Default: data that can't be compressed.", pattern{}, func(w *W) *load.Job { return &w.Job }),
		strict.Key("buffer_compress_percentage", "Percentage of each written block that is zeros. Default: 0, which can't be compressed.", strict.Integer(0, 100), func(w *W) *int { return &w.Job.Compress }),
		strict.Key("dedupe_percentage", "Percentage of the writes that repeat one block. Default: 0.", strict.Integer(0, 100), func(w *W) *int { return &w.Job.Dedupe }),
		strict.Key("verify", "Stamps each block with its offset and a checksum. Reads are checked as they complete; the writes of one pass are read back after the measured time. Default: no checks.", verify(), func(w *W) *bool { return &w.Job.Verify }),
		strict.Key("steady_state", "Runs until five rounds are steady, but not longer than runtime, and measures only these rounds. Default: all of runtime is measured.", steadyState{}, func(w *W) *workload.SteadyState { return &w.Steady }),
		strict.Key("io_engine", "The I/O engine of this job, instead of the plan's io_engine. Default: the plan's.", strict.Choice(load.IOUring, load.LinuxAIO, load.PSync, load.MMap, load.Null), func(w *W) *string { return &w.Job.IOEngine }),
		strict.Key("cpus_allowed", "Processors that the threads may run on, such as 0-3,5. Default: all that the worker may use.", processors(), func(w *W) *[]int { return &w.Job.CPUs }),
		strict.Key("randseed", "Makes offsets and data repeatable. Default: a fixed seed.", strict.Seed(), func(w *W) *uint64 { return &w.Job.RandSeed }),
	}
}
