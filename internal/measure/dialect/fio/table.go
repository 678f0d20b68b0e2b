package fio

import (
	"math"
	"slices"
	"time"

	"plimsoll/load"
)

// Bounds that protect the machine from a typing error.
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

// bare is a Yes option that may be given without a value.
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

// notedBare is a noted option that may be given without a value.
func notedBare(name, text string, off ...string) Option {
	o := noted(name, text, off...)
	o.Bare = true
	return o
}

// acceptedBare is an Accepted option that may be given without a value.
func acceptedBare(name, text string) Option {
	o := accepted(name, text)
	o.Bare = true
	return o
}

func refused(name, text string, off ...string) Option {
	return Option{Name: name, Support: Refused, Text: text, Off: off}
}

// sameAsFio is the text of an option that works as fio's manual says; docs/reference/fio.md lists those together.
const sameAsFio = "as in fio"

// Texts that several options share.
const (
	alwaysWritten = "files are always written in full before the test"
	keptAnyway    = "costs nothing here: the figures are measured and printed anyway"
	noTrim        = "trims are not supported"
	noZone        = "zoned devices are not supported"
	noReplay      = "only fio's logs are read, not blktrace's"
	limitsNotHere = "use Plimsoll's limits of the place instead"
	slopeText     = "one of iops, bw, lat, iops_slope, bw_slope and lat_slope"
)

// Options is the table of all options of fio 3.33 and what becomes of them.
// docs/reference/fio.md is checked against it.
var Options = []Option{
	// What and where.
	yes("name", "begins a job on a command line; `global` sets defaults for the jobs after it", textTo(func(j *job) *string { return &j.name })),
	yes("description", sameAsFio, textTo(func(j *job) *string { return &j.description })),
	yes("filename", sameAsFio, setFilename),
	yes("directory", sameAsFio, textTo(func(j *job) *string { return &j.directory })),
	yes("filename_format", sameAsFio, textTo(func(j *job) *string { return &j.format })),
	yes("nrfiles", "as in fio; no effect before filename", setNrFiles, "nr_files"),
	yes("filesize", "bytes of each file, or a range (4k-64k) of multiples of the block size, the same in each run", setFileSize),
	yes("size", "bytes of the region over all files of a clone, or percent of the existing file", amountTo(func(j *job) *amount { return &j.size })),
	yes("io_size", sameAsFio, amountTo(func(j *job) *amount { return &j.ioSize }), "io_limit"),
	yes("offset", sameAsFio, amountTo(func(j *job) *amount { return &j.offset }), "fileoffset"),
	yes("offset_increment", sameAsFio, amountTo(func(j *job) *amount { return &j.offsetInc })),
	yes("file_service_type", "roundrobin, sequential or random, without a number after it", wordService()),
	yes("unlink", sameAsFio, boolTo(func(j *job) *bool { return &j.unlink })),
	yes("invalidate", "drops the files from the page cache before each pass, as far as the kernel allows (default 1)", boolTo(func(j *job) *bool { return &j.invalidate })),

	// The pattern.
	yes("rw", "all patterns, with the number after a colon. Trims (of block devices) and trimwrite are done one at a time", setRW, "readwrite"),
	yes("bs", "one size, or one for reads and one for writes", pairTo(func(j *job) *pair { return &j.bs }, 1, 1<<40), "blocksize"),
	yes("ba", "alignment of random offsets; other than bs it turns the random map off", pairTo(func(j *job) *pair { return &j.blockalign }, 1, 1<<40), "blockalign"),
	yes("bsrange", "up to 4096 multiples of the smaller size, equally often, without a random map", splitTo(parseRange), "blocksize_range"),
	yes("bssplit", "up to 64 sizes with percentages, without a random map", splitTo(parseSplit)),
	yes("rwmixread", sameAsFio, setMix(false)),
	yes("rwmixwrite", sameAsFio, setMix(true)),
	yes("random_distribution", "random, zipf, pareto, normal, zoned, zoned_abs; the same for reads and writes", setDistribution),
	yes("percentage_random", sameAsFio, setPercentageRandom),
	bare("norandommap", "random offsets may repeat; without it each block comes once per pass", boolTo(func(j *job) *bool { return &j.norandommap })),
	yes("randrepeat", sameAsFio, boolTo(func(j *job) *bool { return &j.randrepeat })),
	yes("allrandrepeat", "same as randrepeat: there is one seed here", boolTo(func(j *job) *bool { return &j.randrepeat })),
	yes("randseed", "the seed of offsets, and of the data with refill_buffers; each clone draws its own from it", setSeed),
	accepted("random_generator", "the random generator makes no difference to the figures"),
	accepted("softrandommap", "the map needs no memory here, so its allocation can't fail"),
	{Name: "rw_sequencer", Support: Refused, Text: "only sequential, the default", Off: []string{"sequential"}},

	// How.
	yes("ioengine", "io_uring, libaio, null, mmap; psync, sync, pvsync, pvsync2, vsync are pread and pwrite; posixaio is threads", setEngine),
	yes("iodepth", sameAsFio, intTo(func(j *job) *int { return &j.iodepth }, 1, maxIODepth)),
	accepted("iodepth_batch", "I/Os are submitted, and completions taken, as soon as there are any", "iodepth_batch_submit"),
	accepted("iodepth_batch_complete_min", "I/Os are submitted, and completions taken, as soon as there are any", "iodepth_batch_complete"),
	accepted("iodepth_batch_complete_max", "I/Os are submitted, and completions taken, as soon as there are any"),
	{Name: "iodepth_low", Support: Refused, Text: "the depth is refilled after each completion; leave it out"},
	yes("direct", sameAsFio, boolTo(func(j *job) *bool { return &j.direct })),
	yes("buffered", sameAsFio, notBool(func(j *job) *bool { return &j.direct })),
	yes("sync", sameAsFio, setSync),
	yes("fsync", sameAsFio, intTo(func(j *job) *int { return &j.fsync }, 0, math.MaxInt32)),
	yes("fdatasync", sameAsFio, intTo(func(j *job) *int { return &j.fdatasync }, 0, math.MaxInt32)),
	yes("end_fsync", sameAsFio, boolTo(func(j *job) *bool { return &j.endFsync })),
	yes("fsync_on_close", "same as end_fsync: files are closed once, at the end", boolTo(func(j *job) *bool { return &j.endFsync })),
	yes("numjobs", "clones of the job; each does the whole region", intTo(func(j *job) *int { return &j.numjobs }, 1, maxNumJobs)),
	bare("thread", "clones are threads in any case; only their name in the output changes", boolTo(func(j *job) *bool { return &j.thread })),
	yes("cpus_allowed", sameAsFio, setCPUs),
	yes("cpumask", sameAsFio, setCPUMask),
	yes("cpus_allowed_policy", sameAsFio, setPolicy),

	// Rate and pauses.
	yes("rate", sameAsFio, setRate(func(j *job) *pair { return &j.rate }, maxRate)),
	yes("rate_iops", sameAsFio, setRate(func(j *job) *pair { return &j.iops }, maxIOPS)),
	yes("rate_process", "linear or poisson; poisson keeps the rate here", wordTo(func(j *job) *string { return &j.rateProcess }, load.Linear, load.Poisson)),
	yes("rate_cycle", "milliseconds from 500 on (default 1000)", longTo(func(j *job) *int64 { return &j.rateCycle }, 500, 1<<31-1), "ratecycle"),
	yes("rate_min", sameAsFio, setRate(func(j *job) *pair { return &j.rateMin }, maxRate), "ratemin"),
	yes("rate_iops_min", sameAsFio, setRate(func(j *job) *pair { return &j.iopsMin }, maxIOPS)),
	yes("rate_ignore_thinktime", sameAsFio, boolTo(func(j *job) *bool { return &j.ignoreThink })),
	yes("thinktime", "as in fio; posixaio needs iodepth=1", timeTo(func(j *job) *time.Duration { return &j.think }, usec)),
	yes("thinktime_spin", sameAsFio, timeTo(func(j *job) *time.Duration { return &j.thinkSpin }, usec)),
	yes("thinktime_blocks", sameAsFio, longTo(func(j *job) *int64 { return &j.thinkBlocks }, 1, math.MaxInt32)),
	refused("thinktime_blocks_type", "pauses are counted by completed I/Os", "complete"),
	refused("thinktime_iotime", "use thinktime_blocks", "0"),

	// Time and stages.
	yes("runtime", sameAsFio, timeTo(func(j *job) *time.Duration { return &j.runtime }, sec), "timeout"),
	bare("time_based", sameAsFio, boolTo(func(j *job) *bool { return &j.timeBased })),
	yes("ramp_time", sameAsFio, timeTo(func(j *job) *time.Duration { return &j.ramp }, sec)),
	yes("startdelay", sameAsFio, setDelay),
	yes("loops", sameAsFio, longTo(func(j *job) *int64 { return &j.loops }, 1, math.MaxInt32)),
	yes("number_ios", sameAsFio, longTo(func(j *job) *int64 { return &j.numberIOs }, 0, math.MaxInt64/2)),
	bare("stonewall", sameAsFio, boolTo(func(j *job) *bool { return &j.stonewall }), "wait_for_previous"),
	bare("new_group", sameAsFio, boolTo(func(j *job) *bool { return &j.newGroup })),
	bare("group_reporting", sameAsFio, boolTo(func(j *job) *bool { return &j.group })),
	bare("exitall", sameAsFio, boolTo(func(j *job) *bool { return &j.exitall })),
	yes("exit_what", sameAsFio, wordTo(func(j *job) *string { return &j.exitWhat }, exitGroup, exitStage, exitRest)),
	accepted("threads", "not an option of jobs in fio's manual, but fio accepts it"),
	acceptedBare("exitall_on_error", "an error always ends the whole test"),
	yes("wait_for", "starts after that job, which must be the only one, with its clones, in the stage before", textTo(func(j *job) *string { return &j.waitFor })),

	// Data.
	bare("zero_buffers", sameAsFio, boolTo(func(j *job) *bool { return &j.zero })),
	bare("refill_buffers", sameAsFio, setRefill),
	yes("scramble_buffers", "1: every written block is new, in each run (default); 0: each I/O in flight writes one block over and over", boolTo(func(j *job) *bool { return &j.scramble })),
	yes("buffer_pattern", "as in fio, without files", setPattern),
	yes("buffer_compress_percentage", sameAsFio, intTo(func(j *job) *int { return &j.compress }, 0, 100)),
	accepted("buffer_compress_chunk", "the unit is 4 KiB"),
	yes("dedupe_percentage", sameAsFio, setDedupe),
	yes("dedupe_mode", sameAsFio, setDedupeMode),
	yes("dedupe_working_set_percentage", "as in fio; size must be in bytes", longTo(func(j *job) *int64 { return &j.dedupeShare }, 0, 100)),
	yes("dedupe_global", sameAsFio, boolTo(func(j *job) *bool { return &j.dedupeGlobal })),

	// Verification.
	yes("verify", "every checksum is CRC-32C; blocks are read back after the stage; pattern: blocks contain verify_pattern only", setVerify),
	yes("do_verify", sameAsFio, boolTo(func(j *job) *bool { return &j.doVerify })),
	bare("verify_only", sameAsFio, boolTo(func(j *job) *bool { return &j.verifyOnly })),
	accepted("verify_fatal", "the first bad block always ends the test"),
	accepted("verify_interval", "each I/O is stamped in units of up to 4 KiB"),
	accepted("verify_offset", "the stamp is at the start of a block"),
	yes("verify_pattern", "as in fio, without %o", setVerifyPattern),
	accepted("verify_dump", "the error names offset and contents of the bad block"),
	accepted("verify_async", "each reading thread verifies"),
	accepted("verify_async_cpus", "each reading thread verifies"),
	yes("verify_backlog", sameAsFio, longTo(func(j *job) *int64 { return &j.backlog }, 0, maxBacklog)),
	yes("verify_backlog_batch", sameAsFio, longTo(func(j *job) *int64 { return &j.backlogBatch }, 0, maxBacklog)),
	accepted("verify_state_load", "the state is in the stamps"),
	accepted("verify_state_save", "the state is in the stamps"),
	accepted("verifysort", "obsolete, also without effect in fio 3.33"),
	accepted("verifysort_nr", "obsolete, also without effect in fio 3.33"),
	accepted("experimental_verify", "the state is in the stamps"),

	// Steady state.
	yes("steadystate", slopeText+", judged as in fio: the job ends when its limit is reached", setSteady, "ss"),
	yes("steadystate_duration", sameAsFio, timeTo(func(j *job) *time.Duration { return &j.ssDur }, sec), "ss_dur"),
	yes("steadystate_ramp_time", sameAsFio, timeTo(func(j *job) *time.Duration { return &j.ssRamp }, sec), "ss_ramp"),
	refused("ss_interval", "the interval is one second", "1", "1s"),

	// Output.
	yes("percentile_list", "up to 20", setPercentileList),
	yes("clat_percentiles", sameAsFio, boolTo(func(j *job) *bool { return &j.clatPct })),
	yes("lat_percentiles", "percentiles of the total latency, which is the same here", boolTo(func(j *job) *bool { return &j.latPct })),
	noted("slat_percentiles", "submission is not timed separately", "0"),
	yes("write_bw_log", sameAsFio, logTo(func(j *job) **string { return &j.bwLog })),
	yes("write_iops_log", sameAsFio, logTo(func(j *job) **string { return &j.iopsLog })),
	yes("write_lat_log", "as in fio; clat and lat are the same, slat is empty", logTo(func(j *job) **string { return &j.latLog })),
	yes("log_avg_msec", "as in fio; 0: the first 400000 I/Os of a stage", setLogAvg),
	yes("per_job_logs", sameAsFio, boolTo(func(j *job) *bool { return &j.perJobLogs })),
	yes("write_hist_log", "as in fio, the first 4096 histograms of a stage", logTo(func(j *job) **string { return &j.histLog })),
	yes("log_hist_msec", "as in fio, from 10 ms on", setHistEvery),
	yes("log_hist_coarseness", sameAsFio, setHistStride),
	yes("log_max_value", "0: averages; 1 if no averaged log is written", boolTo(func(j *job) *bool { return &j.logMax })),
	yes("log_offset", sameAsFio, boolTo(func(j *job) *bool { return &j.logOffset })),
	yes("log_prio", sameAsFio, boolTo(func(j *job) *bool { return &j.logPrio })),
	accepted("log_compression", "logs are kept uncompressed in memory"),
	accepted("log_compression_cpus", "logs are kept uncompressed in memory"),
	refused("log_store_compressed", "logs are small", "0"),
	yes("log_unix_epoch", sameAsFio, boolTo(func(j *job) *bool { return &j.unixEpoch })),
	refused("log_alternate_epoch", "use log_unix_epoch", "0"),
	refused("log_alternate_epoch_clock_id", "use log_unix_epoch", "0"),
	accepted("log_entries", "logs are kept uncompressed in memory"),
	accepted("bwavgtime", "samples cover half a second, as by fio's default"),
	accepted("iopsavgtime", "samples cover half a second, as by fio's default"),
	accepted("gtod_reduce", keptAnyway),
	accepted("disable_lat", keptAnyway),
	accepted("disable_clat", keptAnyway),
	accepted("disable_slat", "submission is not timed separately"),
	accepted("disable_bw_measurement", keptAnyway, "disable_bw"),
	accepted("gtod_cpu", "the fastest exact clock is used"),
	accepted("clocksource", "the fastest exact clock is used"),
	yes("unified_rw_reporting", sameAsFio, setUnified),
	refused("significant_figures", "numbers have four significant figures", "4"),
	refused("stats", "the output is nothing but statistics", "1"),
	refused("disk_util", "the disks are always shown", "1"),
	refused("block_error_percentiles", noTrim, "0"),
	yes("kb_base", sameAsFio, setKBBase),
	refused("unit_base", "rates are in bytes", "0", "8"),

	// Layout.
	accepted("fallocate", alwaysWritten),
	accepted("overwrite", alwaysWritten),
	accepted("create_on_open", alwaysWritten),
	accepted("create_serialize", alwaysWritten),
	accepted("create_fsync", alwaysWritten+", and synced"),
	yes("fadvise_hint", sameAsFio, setHint),
	accepted("openfiles", "all files stay open"),
	accepted("lockmem", "buffers are not swapped during a test"),
	accepted("mem", "buffers are anonymous memory, aligned for direct I/O", "iomem"),
	accepted("mem_align", "buffers are anonymous memory, aligned for direct I/O", "iomem_align"),
	accepted("hugepage-size", "buffers are anonymous memory, aligned for direct I/O"),
	refused("allow_file_create", "name a file that exists instead", "1"),
	refused("allow_mounted_write", "a block device is written only with --destructive", "0"),
	yes("create_only", sameAsFio, boolTo(func(j *job) *bool { return &j.createOnly })),
	yes("fill_device", "1: a job of writes ends when its device is full, or at its size; its file is not laid out. Without a size, reads use the existing file", boolTo(func(j *job) *bool { return &j.fill }), "fill_fs"),
	yes("file_append", sameAsFio, boolTo(func(j *job) *bool { return &j.appends })),
	yes("pre_read", "1: the files are read before the job starts, and not dropped from the page cache", boolTo(func(j *job) *bool { return &j.preRead })),
	yes("unlink_each_loop", "without effect in one pass and in time_based, as in fio; with loops it is refused", boolTo(func(j *job) *bool { return &j.unlinkLoops })),
	yes("offset_align", sameAsFio, setOffsetAlign),
	{Name: "bs_unaligned", Aliases: []string{"blocksize_unaligned"}, Bare: true, Support: Yes, Text: "as in fio, 4096 sizes at most", set: boolTo(func(j *job) *bool { return &j.unaligned })},
	yes("bs_is_seq_rand", "1: as in fio; a job with sequential and random offsets is refused", boolTo(func(j *job) *bool { return &j.seqRandSizes })),
	yes("lockfile", "none; exclusive or readwrite if nothing else in the stage uses the file", wordTo(func(j *job) *string { return &j.lockFile }, "none", "exclusive", "readwrite")),
	yes("opendir", "the job reads all regular files in that folder and the folders below it, up to 4096", textTo(func(j *job) *string { return &j.openDir })),
	refused("unique_filename", "there are no clients", "1"),
	refused("sync_file_range", "use fdatasync"),
	refused("write_barrier", "use fsync", "0"),
	refused("atomic", "use direct=1", "0"),
	noted("write_hint", "no hints are passed to the kernel", "none", "0"),
	accepted("io_submit_mode", "an I/O doesn't wait for earlier ones while the depth allows it, and a rate has response times from its schedule"),
	noted("serialize_overlap", "writes in flight may overlap", "0"),

	// Options of engines.
	acceptedBare("fixedbufs", "done with io_uring if the kernel allows it"),
	acceptedBare("registerfiles", "done with io_uring if the kernel allows it"),
	accepted("nonvectored", "I/Os of io_uring have one buffer"),
	notedBare("hipri", "completions are waited for, not polled", "0"),
	notedBare("sqthread_poll", "the job itself submits, not a kernel thread", "0"),
	accepted("sqthread_poll_cpu", "the job itself submits, not a kernel thread"),
	refused("force_async", "the kernel decides", "0"),
	refused("uncached", "use direct=1", "0"),
	refused("nowait", "I/Os that wait are measured, too", "0"),
	noted("hipri_percentage", "completions are waited for, not polled", "0"),
	yes("cmdprio_percentage", sameAsFio, pairTo(func(j *job) *pair { return &j.cmdPercent }, 0, 100)),
	yes("cmdprio_class", sameAsFio, pairTo(func(j *job) *pair { return &j.cmdClass }, 1, 3)),
	yes("cmdprio", sameAsFio, pairTo(func(j *job) *pair { return &j.cmdLevel }, 0, 7)),
	yes("cmdprio_bssplit", sameAsFio, setPrioritySplit),
	refused("cmd_type", "NVMe commands are not sent"),
	refused("thp", "the kernel decides whether a mapping has huge pages", "0"),
	acceptedBare("userspace_reap", "completions are read from the kernel's ring in any case"),

	// A job's limits, and what it may do besides I/O.
	refused("max_latency", "no I/O is cut off; look at the maximum", "0"),
	yes("latency_target", "as in fio; it takes no rate, pauses, logs or verify", timeTo(func(j *job) *time.Duration { return &j.target.Latency }, usec)),
	yes("latency_window", sameAsFio, timeTo(func(j *job) *time.Duration { return &j.target.Window }, usec)),
	yes("latency_percentile", sameAsFio, setTargetPercent),
	yes("latency_run", sameAsFio, boolTo(func(j *job) *bool { return &j.target.Keep })),
	yes("ignore_error", sameAsFio, setIgnored),
	accepted("error_dump", "errors after which a job continues are counted, not printed"),
	yes("continue_on_error", sameAsFio, setGoOn),
	refused("cgroup", limitsNotHere), refused("cgroup_weight", limitsNotHere), refused("cgroup_nodelete", limitsNotHere, "0"),
	refused("nice", limitsNotHere, "0"),
	yes("prio", sameAsFio, setPrio(func(j *job) *int { return &j.prioLevel }, 7)),
	yes("prioclass", sameAsFio, setPrio(func(j *job) *int { return &j.prioClass }, 3)),
	refused("ioscheduler", "set it in /sys/block"),
	yes("numa_cpu_nodes", sameAsFio, setCPUNodes),
	yes("numa_mem_policy", sameAsFio, setMemPolicy),
	refused("uid", "run Plimsoll as that user"), refused("gid", "run Plimsoll as that group"),
	refused("exec_prerun", "Plimsoll runs no commands for a job"), refused("exec_postrun", "Plimsoll runs no commands for a job"),
	refused("profile", "there are no profiles; write the job in full"),
	accepted("flow_watermark", "obsolete, also without effect in fio 3.33"),
	yes("flow", sameAsFio, setFlow),
	yes("flow_id", sameAsFio, intTo(func(j *job) *int { return &j.flowID }, 0, 1<<31-1)),
	yes("flow_sleep", sameAsFio, timeTo(func(j *job) *time.Duration { return &j.flowSleep }, usec)),
	yes("write_iolog", "a log of version 3: the first 400000 reads and writes of a stage's clones, of one file", textTo(func(j *job) *string { return &j.replay.record })),
	yes("read_iolog", "a log of version 2 or 3: up to 400000 reads, writes and syncs. With several logs, each clone has its own", textTo(func(j *job) *string { return &j.replay.log })),
	accepted("read_iolog_chunked", "the whole log is read at once"),
	yes("replay_no_stall", sameAsFio, boolTo(func(j *job) *bool { return &j.replay.noStall })),
	yes("replay_redirect", sameAsFio, textTo(func(j *job) *string { return &j.replay.redirect })),
	yes("replay_scale", sameAsFio, longTo(func(j *job) *int64 { return &j.replay.scale }, 1, math.MaxInt32)),
	yes("replay_align", sameAsFio, setReplayAlign),
	yes("replay_time_scale", sameAsFio, longTo(func(j *job) *int64 { return &j.replay.timeScale }, 1, math.MaxInt32)),
	refused("replay_skip", noReplay),
	refused("merge_blktrace_file", noReplay), refused("merge_blktrace_scalars", noReplay), refused("merge_blktrace_iters", noReplay),
	refused("trim_percentage", noTrim, "0"), refused("trim_verify_zero", noTrim, "0"),
	refused("trim_backlog", noTrim, "0"), refused("trim_backlog_batch", noTrim, "0"),
	yes("zonemode", "none or strided; zbd is refused", setZoneMode),
	yes("zonesize", sameAsFio, zoneTo(func(z *load.Zones) *int64 { return &z.Size })),
	refused("zonecapacity", noZone, "0"),
	yes("zonerange", sameAsFio, zoneTo(func(z *load.Zones) *int64 { return &z.Range })),
	yes("zoneskip", sameAsFio, zoneTo(func(z *load.Zones) *int64 { return &z.Skip })),
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

// supportedNames are the candidates for a mistyped or refused option.
var supportedNames = func() []string {
	var all []string
	for i := range Options {
		if o := &Options[i]; o.Support != Refused {
			all = append(append(all, o.Name), o.Aliases...)
		}
	}
	return all
}()
