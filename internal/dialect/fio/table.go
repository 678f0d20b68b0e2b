package fio

import (
	"math"
	"slices"
	"time"

	"plimsoll/load"
)

// Bounds that keep a typing error from taking the machine.
const (
	maxIODepth     = 4096
	maxNumJobs     = 1024
	maxNrFiles     = 4096
	maxRate        = 1 << 50
	maxPercentiles = 20 // FIO_IO_U_LIST_MAX_LEN in its stat.h
	maxIOPS        = 1e9
	maxBacklog     = 1 << 32 // each write of it takes 24 bytes
)

const (
	sec  = time.Second
	usec = time.Microsecond
)

func yes(name, text string, set setter, aliases ...string) Option {
	return Option{Name: name, Aliases: aliases, Support: Yes, Text: text, set: set}
}

// bare is a Yes option that may stand alone.
func bare(name, text string, set setter, aliases ...string) Option {
	return Option{Name: name, Aliases: aliases, Bare: true, Support: Yes, Text: text, set: set}
}

func accepted(name, text string, aliases ...string) Option {
	return Option{Name: name, Aliases: aliases, Support: Accepted, Text: text, set: func(*job, string) error { return nil }}
}

// noted is an Accepted option with a note that it has no effect, unless its value is one of off.
func noted(name, text string, off ...string) Option {
	o := accepted(name, text)
	o.set = func(j *job, v string) error {
		if !slices.Contains(off, v) {
			j.note("%s=%s has no effect: %s", name, v, text)
		}
		return nil
	}
	return o
}

// notedBare is a noted option that may stand alone.
func notedBare(name, text string, off ...string) Option {
	o := noted(name, text, off...)
	o.Bare = true
	return o
}

// acceptedBare is an Accepted option that may stand alone.
func acceptedBare(name, text string) Option {
	o := accepted(name, text)
	o.Bare = true
	return o
}

func refused(name, text string, off ...string) Option {
	return Option{Name: name, Support: Refused, Text: text, Off: off}
}

// Texts that several options share.
const (
	alwaysWritten = "files are always written in full before the test, so that no read or overwrite meets unwritten extents"
	keptAnyway    = "costs nothing here: the data is measured and printed all the same"
	noTrim        = "trims are not supported"
	noZone        = "zoned devices are not supported"
	noReplay      = "only logs of fio are read, not traces of blktrace"
	noPrio        = "priorities of I/Os are not supported"
	limitsNotHere = "use Plimsoll's limits of the place instead"
	slopeText     = "only one of the six criteria of iops, bw and lat, each also with _slope"
)

// Options is the table of all options of fio 3.33 and what becomes of them.
// docs/fio.md is checked against it.
var Options = []Option{
	// What and where.
	yes("name", "on a line it begins a job; `global` is no job but sets what follows. In a file it is what a section is called in the output", textTo(func(j *job) *string { return &j.name })),
	yes("description", "printed with the job", textTo(func(j *job) *string { return &j.description })),
	yes("filename", "one or several files, separated by colons (`\\:` is a colon); all clones of a job share them", setFilename),
	yes("directory", "the folder of the files; with several, separated by colons, clones take turns", textTo(func(j *job) *string { return &j.directory })),
	yes("filename_format", "with $jobname, $jobnum, $filenum and $clientuid (empty)", textTo(func(j *job) *string { return &j.format })),
	yes("nrfiles", "files of each clone, among which its size is divided. With a filename before it, how many of its files are used; with one behind it, nothing", setNrFiles, "nr_files"),
	yes("filesize", "bytes of each file; one size, not a range", setFileSize),
	yes("size", "bytes of the region over all files of a clone, or percent of the file that is there", amountTo(func(j *job) *amount { return &j.size })),
	yes("io_size", "bytes after which each clone ends, or percent of size", amountTo(func(j *job) *amount { return &j.ioSize }), "io_limit"),
	yes("offset", "where the region begins, in bytes or percent of the file", amountTo(func(j *job) *amount { return &j.offset }), "fileoffset"),
	yes("offset_increment", "moves the region of each clone on from that of the one before, in bytes or percent of the file", amountTo(func(j *job) *amount { return &j.offsetInc })),
	yes("file_service_type", "roundrobin, sequential or random, without a number behind it", wordService()),
	yes("unlink", "removes the files that this test made", boolTo(func(j *job) *bool { return &j.unlink })),
	yes("invalidate", "drops the files from the page cache before the job and before each further pass, as far as the kernel lets go (default 1)", boolTo(func(j *job) *bool { return &j.invalidate })),

	// The pattern.
	yes("rw", "read, write, randread, randwrite, rw (readwrite), randrw, trim and randtrim (of block devices, one at a time in each clone, as in fio), trimwrite and randtrimwrite (also one at a time: with iodepth=1), with fio's number behind a colon", setRW, "readwrite"),
	yes("bs", "one size, or one for reads and one for writes", pairTo(func(j *job) *pair { return &j.bs }, 1, 1<<40), "blocksize"),
	yes("ba", "alignment of random offsets; one for reads and writes. Other than bs it turns the random map off", pairTo(func(j *job) *pair { return &j.blockalign }, 1, 1<<40), "blockalign"),
	yes("bsrange", "the multiples of the smaller size, equally often; up to 4096 of them. No random map is kept with several sizes", splitTo(parseRange), "blocksize_range"),
	yes("bssplit", "sizes and shares in percent, up to 64; for reads and writes separately after a comma. No random map is kept with several sizes", splitTo(parseSplit)),
	yes("rwmixread", "percentage of reads of rw and randrw", setMix(false)),
	yes("rwmixwrite", "percentage of writes of rw and randrw", setMix(true)),
	yes("random_distribution", "random, zipf, pareto, normal (these three with a center behind the number or not, as in zipf:1.2:0.25; that of normal has no effect, as in fio 3.33), zoned, zoned_abs; the same for reads and writes", setDistribution),
	yes("percentage_random", "share of random offsets in a random pattern, for reads and writes; a direction without a value has 100", setPercentageRandom),
	bare("norandommap", "offsets with replacement; without it each block comes once a pass, as in fio", boolTo(func(j *job) *bool { return &j.norandommap })),
	yes("randrepeat", "1: the same offsets in each run (default), and with refill_buffers the same data", boolTo(func(j *job) *bool { return &j.randrepeat })),
	yes("allrandrepeat", "as randrepeat: all comes from one seed here", boolTo(func(j *job) *bool { return &j.randrepeat })),
	yes("randseed", "the seed of offsets, and of the data with refill_buffers; each clone draws its own from it", setSeed),
	accepted("random_generator", "which generator draws the numbers makes no difference to what is measured"),
	accepted("softrandommap", "the map takes no memory here, so it never fails to be allocated"),
	{Name: "rw_sequencer", Support: Refused, Text: "only sequential, the default", Off: []string{"sequential"}},

	// How.
	yes("ioengine", "io_uring, libaio, null; psync, sync, pvsync, pvsync2, vsync are all pread and pwrite; mmap copies to and from a mapping; posixaio is threads, as in libc", setEngine),
	yes("iodepth", "I/Os in flight of each clone; 1 with the synchronous engines, as in fio", intTo(func(j *job) *int { return &j.iodepth }, 1, maxIODepth)),
	accepted("iodepth_batch", "I/Os are submitted as soon as there is room, as many as there are", "iodepth_batch_submit"),
	accepted("iodepth_batch_complete_min", "completions are taken as they come, as with 1", "iodepth_batch_complete"),
	accepted("iodepth_batch_complete_max", "completions are taken as they come, all that are there"),
	{Name: "iodepth_low", Support: Refused, Text: "the depth is filled up again after each completion; leave it out"},
	yes("direct", "O_DIRECT", boolTo(func(j *job) *bool { return &j.direct })),
	yes("buffered", "the opposite of direct", notBool(func(j *job) *bool { return &j.direct })),
	yes("sync", "O_SYNC (sync, 1), O_DSYNC (dsync) or neither (none, 0)", setSync),
	yes("fsync", "fsync after that many writes", intTo(func(j *job) *int { return &j.fsync }, 0, math.MaxInt32)),
	yes("fdatasync", "fdatasync after that many writes", intTo(func(j *job) *int { return &j.fdatasync }, 0, math.MaxInt32)),
	yes("end_fsync", "fsync at the end of the job, inside its time", boolTo(func(j *job) *bool { return &j.endFsync })),
	yes("fsync_on_close", "as end_fsync: files are closed once, at the end", boolTo(func(j *job) *bool { return &j.endFsync })),
	yes("numjobs", "clones of the job; each does the whole region", intTo(func(j *job) *int { return &j.numjobs }, 1, maxNumJobs)),
	bare("thread", "clones are threads in any case; this is only how they are called", boolTo(func(j *job) *bool { return &j.thread })),
	yes("cpus_allowed", "processors the job may run on", setCPUs),
	yes("cpumask", "the same as a mask of bits", setCPUMask),
	yes("cpus_allowed_policy", "shared, or split: each clone has one of them", setPolicy),

	// Rate and pauses.
	yes("rate", "bytes a second of each clone, for reads and writes each, whatever rwmixread says; `1m,` and `,1m` hold reads or writes only", setRate(func(j *job) *pair { return &j.rate }, maxRate)),
	yes("rate_iops", "I/Os a second of each clone, for reads and writes each; `500,` and `,500` hold reads or writes only", setRate(func(j *job) *pair { return &j.iops }, maxIOPS)),
	yes("rate_process", "linear or poisson; poisson keeps the rate here", wordTo(func(j *job) *string { return &j.rateProcess }, load.Linear, load.Poisson)),
	yes("rate_cycle", "milliseconds over which rate_min and rate_iops_min are judged, from 500 on (default 1000); the schedule is exact for each I/O", longTo(func(j *job) *int64 { return &j.rateCycle }, 500, 1<<31-1), "ratecycle"),
	yes("rate_min", "bytes a second that each clone has to keep up, for reads and writes each, after 2 seconds; else the test ends with an error", setRate(func(j *job) *pair { return &j.rateMin }, maxRate), "ratemin"),
	yes("rate_iops_min", "I/Os a second in the same way", setRate(func(j *job) *pair { return &j.iopsMin }, maxIOPS)),
	yes("rate_ignore_thinktime", "1: pauses put the schedule off; 0: what comes due in them is made up for (default)", boolTo(func(j *job) *bool { return &j.ignoreThink })),
	yes("thinktime", "pause after each I/O; microseconds if it has no unit", timeTo(func(j *job) *time.Duration { return &j.think }, usec)),
	yes("thinktime_spin", "the first part of that pause, spent computing", timeTo(func(j *job) *time.Duration { return &j.thinkSpin }, usec)),
	yes("thinktime_blocks", "I/Os between pauses", longTo(func(j *job) *int64 { return &j.thinkBlocks }, 1, math.MaxInt32)),
	refused("thinktime_blocks_type", "pauses are counted by completed I/Os", "complete"),
	refused("thinktime_iotime", "use thinktime_blocks", "0"),

	// Time and stages.
	yes("runtime", "seconds if it has no unit; without time_based only a limit", timeTo(func(j *job) *time.Duration { return &j.runtime }, sec), "timeout"),
	bare("time_based", "goes on over the region until runtime is over", boolTo(func(j *job) *bool { return &j.timeBased })),
	yes("ramp_time", "time before measuring; seconds if it has no unit", timeTo(func(j *job) *time.Duration { return &j.ramp }, sec)),
	yes("startdelay", "time before the start; seconds if it has no unit; of a range, as in 1-5, each clone has a time of its own", setDelay),
	yes("loops", "passes over the region; without effect in time_based, as in fio", longTo(func(j *job) *int64 { return &j.loops }, 1, math.MaxInt32)),
	yes("number_ios", "I/Os after which each clone ends", longTo(func(j *job) *int64 { return &j.numberIOs }, 0, math.MaxInt64/2)),
	bare("stonewall", "begins a new stage: waits for all jobs before it", boolTo(func(j *job) *bool { return &j.stonewall }), "wait_for_previous"),
	bare("new_group", "begins a new group in the output", boolTo(func(j *job) *bool { return &j.newGroup })),
	bare("group_reporting", "sums the jobs of a group up", boolTo(func(j *job) *bool { return &j.group })),
	bare("exitall", "in any job: the end of each job ends others, as exit_what of the one that ends says", boolTo(func(j *job) *bool { return &j.exitall })),
	yes("exit_what", "which jobs the end of this one ends with exitall: group, those of its group (default); stonewall, those of its stage; all, these and the later stages, which then do not begin", wordTo(func(j *job) *string { return &j.exitWhat }, exitGroup, exitStage, exitRest)),
	accepted("threads", "no option of fio's jobs, which takes it all the same"),
	acceptedBare("exitall_on_error", "an error always ends the whole test"),
	yes("wait_for", "the start waits for that job, where it and its clones are all that the stage before has", textTo(func(j *job) *string { return &j.waitFor })),

	// Data.
	bare("zero_buffers", "writes zeros", boolTo(func(j *job) *bool { return &j.zero })),
	bare("refill_buffers", "makes the data of each write anew, in the measured time and outside of the latency, as fio does; without it all data is made before and stamped for each write; default with buffer_compress_percentage, dedupe_percentage and verify", setRefill),
	accepted("scramble_buffers", "every block that is written is new in any case, in each run, as in fio with 1 (default)"),
	yes("buffer_pattern", "0x... , decimal numbers or \"text\", one behind the other as in fio; no file", setPattern),
	yes("buffer_compress_percentage", "percent of each written 4 KiB, at their end, that are zeros, or buffer_pattern if there is one", intTo(func(j *job) *int { return &j.compress }, 0, 100)),
	accepted("buffer_compress_chunk", "the unit is 4 KiB"),
	yes("dedupe_percentage", "percent of writes that repeat one block", setDedupe),
	refused("dedupe_mode", "only repeat", "repeat"),
	refused("dedupe_working_set_percentage", "dedupe_mode is always repeat"),
	refused("dedupe_global", "dedupe_mode is always repeat", "0"),

	// Verification.
	yes("verify", "each block is stamped with offset, number and CRC-32C, whichever checksum is named, and those that were written are read back after the stage; pattern: blocks are verify_pattern and no more", setVerify),
	yes("do_verify", "0: writes stamped blocks without reading them back", boolTo(func(j *job) *bool { return &j.doVerify })),
	bare("verify_only", "reads back what an earlier run of the same job wrote", boolTo(func(j *job) *bool { return &j.verifyOnly })),
	accepted("verify_fatal", "the first bad block always ends the test"),
	accepted("verify_interval", "each I/O is stamped in units of up to 4 KiB"),
	accepted("verify_offset", "the stamp is at the start of a block"),
	yes("verify_pattern", "what verified blocks hold beside their stamps, as buffer_pattern is written; without %o", setVerifyPattern),
	accepted("verify_dump", "the error names offset and contents of the bad block"),
	accepted("verify_async", "each reading thread verifies"),
	accepted("verify_async_cpus", "each reading thread verifies"),
	yes("verify_backlog", "reads back the oldest writes each time that so many are not read back; the rest is read back after the stage", longTo(func(j *job) *int64 { return &j.backlog }, 0, maxBacklog)),
	yes("verify_backlog_batch", "how many of them (default: verify_backlog)", longTo(func(j *job) *int64 { return &j.backlogBatch }, 0, maxBacklog)),
	accepted("verify_state_load", "state is in the stamps"),
	accepted("verify_state_save", "state is in the stamps"),
	accepted("verifysort", "obsolete, without effect in fio 3.33 too"),
	accepted("verifysort_nr", "obsolete, without effect in fio 3.33 too"),
	accepted("experimental_verify", "what was written is in the stamps"),

	// Steady state.
	yes("steadystate", slopeText+", as fio judges them: the job ends when its limit is kept", setSteady, "ss"),
	yes("steadystate_duration", "the window that is judged; seconds if it has no unit", timeTo(func(j *job) *time.Duration { return &j.ssDur }, sec), "ss_dur"),
	yes("steadystate_ramp_time", "time before the first sample is judged; seconds if it has no unit", timeTo(func(j *job) *time.Duration { return &j.ssRamp }, sec), "ss_ramp"),
	refused("ss_interval", "the interval is one second", "1", "1s"),

	// Output.
	yes("percentile_list", "up to 20", setPercentileList),
	yes("clat_percentiles", "percentiles of the completion latency (default 1)", boolTo(func(j *job) *bool { return &j.clatPct })),
	yes("lat_percentiles", "percentiles of the total latency, which here is the same", boolTo(func(j *job) *bool { return &j.latPct })),
	noted("slat_percentiles", "submission is not timed apart, so slat has no samples", "0"),
	yes("write_bw_log", "the file of bandwidths, of each I/O, or of averages over log_avg_msec", logTo(func(j *job) **string { return &j.bwLog })),
	yes("write_iops_log", "the file of I/Os a second, of each I/O, or of averages over log_avg_msec", logTo(func(j *job) **string { return &j.iopsLog })),
	yes("write_lat_log", "the files of latencies (clat and lat are the same, slat is empty), of each I/O, or of averages over log_avg_msec", logTo(func(j *job) **string { return &j.latLog })),
	yes("log_avg_msec", "interval of the logs in milliseconds; 0: a line for each I/O (default), of the first 400000 of a stage's clones together", setLogAvg),
	yes("per_job_logs", "a log file for each clone (default 1)", boolTo(func(j *job) *bool { return &j.perJobLogs })),
	yes("write_hist_log", "the file of histograms of completion latencies, one for each log_hist_msec and direction: the first 4096 of a stage's clones together", logTo(func(j *job) **string { return &j.histLog })),
	yes("log_hist_msec", "interval of the histograms in milliseconds, from 10 on; 0: the file stays empty, as in fio (default)", setHistEvery),
	yes("log_hist_coarseness", "how often the 1856 bins of a line are halved, by joining neighbours: 0 (default) to 6", setHistStride),
	yes("log_max_value", "0: logs with log_avg_msec hold averages (default); 1 is taken where no such log is written, and else refused", boolTo(func(j *job) *bool { return &j.logMax })),
	yes("log_offset", "a column of offsets; 0 for averages", boolTo(func(j *job) *bool { return &j.logOffset })),
	yes("log_prio", "the last column is in hexadecimal; priorities are 0 here", boolTo(func(j *job) *bool { return &j.logPrio })),
	accepted("log_compression", "logs are kept in memory as they are"),
	accepted("log_compression_cpus", "logs are kept in memory as they are"),
	refused("log_store_compressed", "logs are small", "0"),
	yes("log_unix_epoch", "times of the logs are those of the wall clock, in milliseconds", boolTo(func(j *job) *bool { return &j.unixEpoch })),
	refused("log_alternate_epoch", "use log_unix_epoch", "0"),
	refused("log_alternate_epoch_clock_id", "use log_unix_epoch", "0"),
	accepted("log_entries", "logs grow as they have to"),
	accepted("bwavgtime", "the interval of the bandwidth samples is half a second, as fio's default"),
	accepted("iopsavgtime", "the interval of the IOPS samples is half a second, as fio's default"),
	accepted("gtod_reduce", keptAnyway),
	accepted("disable_lat", keptAnyway),
	accepted("disable_clat", keptAnyway),
	accepted("disable_slat", "submission is not timed apart"),
	accepted("disable_bw_measurement", keptAnyway, "disable_bw"),
	accepted("gtod_cpu", "each thread reads the clock, which takes nanoseconds"),
	accepted("clocksource", "the fastest clock that is exact is used"),
	yes("unified_rw_reporting", "none or 0: reads and writes apart (default); mixed or 1: as one; both or 2: apart and as one", setUnified),
	refused("significant_figures", "numbers have four significant figures", "4"),
	refused("stats", "there is nothing but what was measured", "1"),
	refused("disk_util", "the disks are always shown", "1"),
	refused("block_error_percentiles", noTrim, "0"),
	yes("kb_base", "1024 (k is 1024, kib is 1000) or 1000 (the other way round)", setKBBase),
	refused("unit_base", "rates are in bytes", "0", "8"),

	// Layout.
	accepted("fallocate", alwaysWritten),
	accepted("overwrite", alwaysWritten),
	accepted("create_on_open", alwaysWritten),
	accepted("create_serialize", alwaysWritten),
	accepted("create_fsync", alwaysWritten+", and synced"),
	yes("fadvise_hint", "1: the kernel is told whether a buffered job is random or sequential (default), 0: it isn't; or random, sequential", setHint),
	accepted("openfiles", "all files stay open"),
	accepted("lockmem", "memory of the buffers is not swapped in a test"),
	accepted("mem", "buffers are anonymous memory, aligned for direct I/O", "iomem"),
	accepted("mem_align", "buffers are aligned to pages", "iomem_align"),
	accepted("hugepage-size", "buffers are anonymous memory"),
	refused("allow_file_create", "name a file that exists instead", "1"),
	refused("allow_mounted_write", "a block device is written only with --destructive", "0"),
	yes("create_only", "1: makes the files and does no I/O", boolTo(func(j *job) *bool { return &j.createOnly })),
	yes("fill_device", "1: a job of writes ends when its file system or device is full, or at its size; its file is not laid out. Without a size, reads have the file that is there", boolTo(func(j *job) *bool { return &j.fill }), "fill_fs"),
	yes("file_append", "1: a job of writes begins where its file ends; the file is not laid out", boolTo(func(j *job) *bool { return &j.appends })),
	yes("pre_read", "1: the files are read before the job starts, and not dropped from the page cache", boolTo(func(j *job) *bool { return &j.preRead })),
	yes("unlink_each_loop", "without effect in one pass and in time_based, as in fio; with loops it is refused", boolTo(func(j *job) *bool { return &j.unlinkLoops })),
	yes("offset_align", "what an offset in percent is rounded up to, in bytes; 0: the block size (default)", setOffsetAlign),
	{Name: "bs_unaligned", Aliases: []string{"blocksize_unaligned"}, Bare: true, Support: Yes, Text: "1: bsrange has any size in bytes, 4096 of them at most; without effect on other sizes, as in fio", set: boolTo(func(j *job) *bool { return &j.unaligned })},
	yes("bs_is_seq_rand", "1: the first value of bs, bsrange and bssplit is for sequential offsets and the second for random ones, of reads and writes; a job with both is refused", boolTo(func(j *job) *bool { return &j.seqRandSizes })),
	yes("lockfile", "none (default); exclusive or readwrite where no other job or clone of the stage uses the file, which no lock changes", wordTo(func(j *job) *string { return &j.lockFile }, "none", "exclusive", "readwrite")),
	refused("opendir", "name the files with filename"),
	refused("unique_filename", "there are no clients", "1"),
	refused("sync_file_range", "use fdatasync"),
	refused("write_barrier", "use fsync", "0"),
	refused("atomic", "use direct=1", "0"),
	noted("write_hint", "the kernel is given no hints", "none", "0"),
	accepted("io_submit_mode", "an I/O waits for none before it while there is room in the depth, and a rate has response times from its schedule"),
	noted("serialize_overlap", "writes in flight may overlap", "0"),

	// Options of engines.
	acceptedBare("fixedbufs", "buffers are registered with io_uring where the kernel allows it"),
	acceptedBare("registerfiles", "files are registered with io_uring where the kernel allows it"),
	accepted("nonvectored", "I/Os of io_uring have one buffer"),
	notedBare("hipri", "completions are waited for, not polled", "0"),
	notedBare("sqthread_poll", "the job itself submits, no thread of the kernel", "0"),
	accepted("sqthread_poll_cpu", "no thread of the kernel submits"),
	refused("force_async", "the kernel decides", "0"),
	refused("uncached", "use direct=1", "0"),
	refused("nowait", "an I/O that has to wait is measured", "0"),
	noted("hipri_percentage", "completions are waited for, not polled", "0"),
	refused("cmdprio_percentage", noPrio, "0"), refused("cmdprio_class", noPrio), refused("cmdprio", noPrio, "0"), refused("cmdprio_bssplit", noPrio),
	refused("cmd_type", "commands of NVMe are not sent"),
	refused("thp", "the kernel decides whether a mapping has huge pages", "0"),
	acceptedBare("userspace_reap", "completions are read from the kernel's ring in any case"),

	// What a job is allowed; other work.
	refused("max_latency", "an I/O is not cut off; look at the maximum", "0"),
	yes("latency_target", "the job searches for the greatest depth, up to iodepth, at which latencies are below it, as fio does: microseconds if it has no unit. When it is found, the job ends with one more window, and the results are of that", timeTo(func(j *job) *time.Duration { return &j.target.Latency }, usec)),
	yes("latency_window", "how long each depth is tried; microseconds if it has no unit. latency_target needs one", timeTo(func(j *job) *time.Duration { return &j.target.Window }, usec)),
	yes("latency_percentile", "percent of the I/Os that have to be below (default 100: the first slower one ends the try, and with depth 1 the job, with an error)", setTargetPercent),
	yes("latency_run", "1: goes on with the search until the job ends, and the results are of all of it", boolTo(func(j *job) *bool { return &j.target.Keep })),
	yes("ignore_error", "errors of reads, and behind a comma of writes, after which the job goes on: names or Linux' numbers with colons, as in EIO:28", setIgnored),
	accepted("error_dump", "errors after which a job goes on are counted, not printed"),
	yes("continue_on_error", "read, write, io (both) or all: the job goes on after EIO and EILSEQ, or what ignore_error says; none (default): the first error ends the test", setGoOn),
	refused("cgroup", limitsNotHere), refused("cgroup_weight", limitsNotHere), refused("cgroup_nodelete", limitsNotHere, "0"),
	refused("nice", limitsNotHere, "0"), refused("prio", limitsNotHere), refused("prioclass", limitsNotHere),
	refused("ioscheduler", "set it in /sys/block"),
	yes("numa_cpu_nodes", "memory nodes on whose processors the job may run, as in 0-1,3, or all", setCPUNodes),
	yes("numa_mem_policy", "where the memory of its buffers is taken from: default, prefer:0, bind:0-1, interleave:0-1 (without nodes all) or local", setMemPolicy),
	refused("uid", "run Plimsoll as that user"), refused("gid", "run Plimsoll as that group"),
	refused("exec_prerun", "commands are not run"), refused("exec_postrun", "commands are not run"),
	refused("profile", "there are no profiles; write the job out"),
	accepted("flow_watermark", "obsolete, without effect in fio 3.33 too"),
	yes("flow", "the job's weight among those of its flow, which are held to shares of I/Os in that relation; 0: none (default)", intTo(func(j *job) *int { return &j.flow }, 0, 1000)),
	yes("flow_id", "which flow that is (default 0); one has jobs of one stage", intTo(func(j *job) *int { return &j.flowID }, 0, 1<<31-1)),
	yes("flow_sleep", "how long a job waits that is ahead of its share, in microseconds", timeTo(func(j *job) *time.Duration { return &j.flowSleep }, usec)),
	yes("write_iolog", "the file of the job's reads and writes, as a log of version 3: the first 400000 of a stage's clones together, without syncs, of one file", textTo(func(j *job) *string { return &j.replay.record })),
	yes("read_iolog", "does what a log of version 2 or 3 has: up to 400000 reads, writes and syncs, at their times. Several logs, separated by colons, are of a clone each", textTo(func(j *job) *string { return &j.replay.log })),
	accepted("read_iolog_chunked", "the log is read at once"),
	yes("replay_no_stall", "1: recorded I/O is done as fast as the depth allows", boolTo(func(j *job) *bool { return &j.replay.noStall })),
	yes("replay_redirect", "the one file that recorded I/O goes to", textTo(func(j *job) *string { return &j.replay.redirect })),
	yes("replay_scale", "what recorded offsets are divided by", longTo(func(j *job) *int64 { return &j.replay.scale }, 1, math.MaxInt32)),
	yes("replay_align", "recorded offsets are rounded down to a multiple of it, a power of two", setReplayAlign),
	yes("replay_time_scale", "percent of the recorded speed (default 100)", longTo(func(j *job) *int64 { return &j.replay.timeScale }, 1, math.MaxInt32)),
	refused("replay_skip", noReplay),
	refused("merge_blktrace_file", noReplay), refused("merge_blktrace_scalars", noReplay), refused("merge_blktrace_iters", noReplay),
	refused("trim_percentage", noTrim, "0"), refused("trim_verify_zero", noTrim, "0"),
	refused("trim_backlog", noTrim, "0"), refused("trim_backlog_batch", noTrim, "0"),
	yes("zonemode", "none (default), or strided: the job does zonesize bytes in a zone, then those of the next. zbd is refused", setZoneMode),
	yes("zonesize", "bytes that are done in a zone", zoneTo(func(z *load.Zones) *int64 { return &z.Size })),
	refused("zonecapacity", noZone, "0"),
	yes("zonerange", "how long a zone is (default: zonesize). A longer zonesize begins it anew", zoneTo(func(z *load.Zones) *int64 { return &z.Range })),
	yes("zoneskip", "bytes from the end of a zone to the next one. Behind the last zone the first one's turn comes again; a sequential job ends in a zone that the end of the file cuts off, as in fio, and a random one goes on", zoneTo(func(z *load.Zones) *int64 { return &z.Skip })),
	refused("read_beyond_wp", noZone, "0"),
	refused("max_open_zones", noZone, "0"), refused("job_max_open_zones", noZone, "0"), refused("ignore_zone_limits", noZone, "0"),
	refused("zone_reset_threshold", noZone, "0"), refused("zone_reset_frequency", noZone, "0"),
}

// byName finds options by all of their names.
var byName = func() map[string]*Option {
	m := map[string]*Option{}
	for i := range Options {
		o := &Options[i]
		for _, n := range append([]string{o.Name}, o.Aliases...) {
			m[n] = o
		}
	}
	return m
}()

// supportedNames are the names that a mistyped or refused one may be near to.
var supportedNames = func() []string {
	var all []string
	for i := range Options {
		if o := &Options[i]; o.Support != Refused {
			all = append(append(all, o.Name), o.Aliases...)
		}
	}
	return all
}()
