package load

import "time"

// Patterns of a job, named as in fio's rw option.
const (
	Read      = "read"
	Write     = "write"
	RandRead  = "randread"
	RandWrite = "randwrite"
	RW        = "rw"
	RandRW    = "randrw"
	// Trim and RandTrim discard blocks of a block device, one at a time per thread. The data in these blocks is lost.
	Trim     = "trim"
	RandTrim = "randtrim"
	// TrimWrite and RandTrimWrite discard a block and then write it. NumberIOs and IOSize count such a pair as one I/O.
	TrimWrite     = "trimwrite"
	RandTrimWrite = "randtrimwrite"
)

// Names of the I/O engines, from the strongest to the weakest, as in fio. Null does no I/O at all: it shows the limit
// of the generator itself.
const (
	IOUring  = "io_uring"
	LinuxAIO = "linux-aio"
	PSync    = "psync"
	Null     = "null"
	// MMap copies to and from a mapping of the file, one I/O at a time per thread: page faults do the I/O. It is never
	// chosen as the strongest engine. Plimsoll has it on Linux only.
	MMap = "mmap"
	// WindowsIOCP is overlapped I/O with a completion port, on Windows only.
	WindowsIOCP = "windows-iocp"
)

// Arrival processes of the I/Os of an open loop (RateProcess), named as in fio.
const (
	Linear  = "linear"
	Poisson = "poisson"
)

// Orders in which a job goes through its files (FileService), named as in fio.
const (
	RoundRobin = "roundrobin"
	Sequential = "sequential"
	Random     = "random"
)

// A Job describes I/O to do, in fio's vocabulary. The zero value of a field means fio's default unless its comment says
// otherwise. Times are nanoseconds in JSON; sizes are bytes.
type Job struct {
	// RW is the pattern: read, write, randread, randwrite, rw, randrw, trim, randtrim, trimwrite or randtrimwrite.
	// Writes overwrite the contents of the file. Random offsets are uniform, with replacement (fio's norandommap),
	// unless the job makes one pass. The reads and writes of rw walk the file independently.
	RW string `json:"rw"`
	// RWNumber is the number after fio's rw, as in rw=read:4k. A sequential pattern skips that many bytes after each
	// I/O, or goes back if the number is negative. A random pattern does that many I/Os in sequence from each new
	// random offset.
	RWNumber int64 `json:"rw_number,omitempty"`
	// BS is the size of one I/O in bytes. Default 4096.
	BS int64 `json:"bs,omitempty"`
	// ReadSplit and WriteSplit are the sizes of reads and of writes (fio's bssplit, bsrange and the second value of
	// bs). Empty: all are BS.
	ReadSplit  []SizeShare `json:"read_split,omitempty"`
	WriteSplit []SizeShare `json:"write_split,omitempty"`
	// BlockAlign is the alignment of random offsets, relative to Offset. 0: the smallest I/O.
	BlockAlign int64 `json:"blockalign,omitempty"`
	// IODepth is the number of I/Os that each of the NumJobs keeps in flight. Default 1. The psync engine reaches a
	// depth by running that many threads.
	IODepth int `json:"iodepth,omitempty"`
	// NumJobs is the number of independent threads that do the job. Default 1. In sequential jobs and single passes,
	// each gets a slice of the region, unless WholeRegion is set.
	NumJobs int `json:"numjobs,omitempty"`
	// WholeRegion gives each of the NumJobs the whole region, as in fio. OffsetIncrement shifts the region of each by
	// that many bytes from the one before it.
	WholeRegion     bool  `json:"whole_region,omitempty"`
	OffsetIncrement int64 `json:"offset_increment,omitempty"`
	// SharedCursor makes the threads of a sequential job share one position, so that together they walk the region
	// once.
	SharedCursor bool `json:"shared_cursor,omitempty"`
	// Parallel lets each of the IODepth I/Os in flight of a sequential job walk the region by itself, all from the same
	// start, as diskspd's -p does: each of them visits every block. The reads and writes of one walk share its
	// position.
	Parallel bool `json:"parallel,omitempty"`
	// StartIncrement shifts the first offset of each of the NumJobs of a sequential job by that many bytes from the one
	// before it. All share one region and wrap around at its end. It needs WholeRegion.
	StartIncrement int64 `json:"start_increment,omitempty"`
	// OneSequence makes the reads and writes of a mixed job form one sequence through the region, as in diskspd.
	// Otherwise they walk it independently, as in fio. With PercentageRandom, the I/Os that follow one at a random
	// offset are also of its kind.
	OneSequence bool `json:"one_sequence,omitempty"`
	// Filename is the file. It must exist and be fully written (see Layout), unless the engine is null. Files names
	// several files instead, each with the same region; FileService is the order in which the job goes through them:
	// roundrobin (the default), sequential or random.
	Filename string   `json:"filename,omitempty"`
	Files    []string `json:"files,omitempty"`
	// Sizes are the lengths of the regions of Files, if they differ; Size is then the largest. A region shorter than a
	// block is skipped. nil: all have Size.
	Sizes       []int64 `json:"sizes,omitempty"`
	FileService string  `json:"file_service_type,omitempty"`
	// Offset and Size bound the region of the file in bytes. Size 0 means to the end of the file.
	Offset int64 `json:"offset,omitempty"`
	Size   int64 `json:"size,omitempty"`
	// Tail lets the last I/O of a pass be shorter than BS if the region is not a multiple of it. It is for a file that
	// one psync thread reads once from beginning to end, as dd does. Without Tail the remainder is not read.
	Tail bool `json:"tail,omitempty"`
	// Peer is the other end of a copy in the manner of dd: the device from which each write's data is read just before
	// the write, or to which each read's data is written just after the read. The time at the peer counts in the
	// window, but not in the latency of any I/O. It is one of PeerZero, PeerRandom and PeerNull, and needs one thread
	// of psync.
	Peer string `json:"peer,omitempty"`
	// Runtime is the measured time, RampTime the unmeasured time before it, and StartDelay an idle time before that.
	// Runtime 0 means one pass, or the end set by IOSize, NumberIOs or Loops. A pass has as many I/Os as the region has
	// blocks and touches each block once. The exception is rw, whose reads and writes walk separately: each kind does
	// its share from the region's start.
	Runtime    time.Duration `json:"runtime,omitempty"`
	RampTime   time.Duration `json:"ramp_time,omitempty"`
	StartDelay time.Duration `json:"startdelay,omitempty"`
	// CoolDown is an unmeasured time after Runtime during which the threads go on.
	CoolDown time.Duration `json:"cooldown,omitempty"`
	// Round divides the measured window into rounds of that length, at least 40 ms (Run.OnRound). The job then ends by
	// its Runtime, or by Run.End. 0: no rounds.
	Round time.Duration `json:"round,omitempty"`
	// NumberIOs ends each of the NumJobs after that many measured I/Os. 0: no such end.
	NumberIOs int64 `json:"number_ios,omitempty"`
	// IOSize ends each of the NumJobs after that many measured bytes. 0: no such end.
	IOSize int64 `json:"io_size,omitempty"`
	// Loops is how many times a job without Runtime is repeated. 0 means 1.
	Loops int64 `json:"loops,omitempty"`
	// RandomMap visits each block once before any block comes twice, as fio does without norandommap. A job of one pass
	// always does so, unless it has several sizes or a BlockAlign other than BS, which have no map. With RWNumber or
	// PercentageRandom, the map applies to the blocks at random offsets only.
	RandomMap bool `json:"random_map,omitempty"`
	// NoRandomMap makes a job without Runtime draw each offset from the whole region, as fio's norandommap does. It
	// does as many I/Os as a pass, but some blocks come twice and others never.
	NoRandomMap bool `json:"norandommap,omitempty"`
	// Distribution is how often the blocks of a random pattern are visited, as in fio's random_distribution: random
	// (the default), zipf:THETA, pareto:H, normal:DEVIATION or zoned:ACCESS/SIZE:... . See ParseDistribution.
	Distribution string `json:"random_distribution,omitempty"`
	// PercentageRandom is the percentage of a random pattern's I/Os that go to a random offset; the others follow the
	// I/O before them. nil: 100.
	PercentageRandom *int `json:"percentage_random,omitempty"`
	// PercentageRandomWrites is that percentage for writes, if it differs from that of reads. nil: PercentageRandom.
	PercentageRandomWrites *int `json:"percentage_random_writes,omitempty"`
	// Direct asks for O_DIRECT. The default is buffered I/O, as in fio.
	Direct bool `json:"direct,omitempty"`
	// AnyAlign lets the file system decide whether it takes direct I/O that is not in whole sectors; some in user space
	// do. Without it such a job is refused.
	AnyAlign bool `json:"any_align,omitempty"`
	// DropCache drops what the thread's I/Os touch from the page cache before each pass over the region except the
	// first, as far as the kernel allows and as fio's invalidate does. An IOSize smaller than the region ends a pass
	// too; random offsets without RandomMap have no other pass. It works on Linux only.
	DropCache bool `json:"drop_cache,omitempty"`
	// Hint tells the kernel how a buffered job will read the file, so that it reads ahead as for other programs: Random
	// (no read-ahead) or Sequential (twice as far). Empty: the kernel decides. Only Linux and Windows take a hint.
	Hint string `json:"hint,omitempty"`
	// LargePages takes the buffers from the huge pages that Linux reserves (vm.nr_hugepages). There is no silent
	// fallback.
	LargePages bool `json:"large_pages,omitempty"`
	// Append opens the file with O_APPEND. On Linux each write then goes to the end of the file, regardless of Offset.
	// A stage sets Offset to the end of the file at the start.
	Append bool `json:"append,omitempty"`
	// ReadErrors and WriteErrors are the system's error numbers after which reads and writes go on. Such an I/O is
	// over, and counts in Class.Failed. Any other error ends the run.
	ReadErrors  []int `json:"read_errors,omitempty"`
	WriteErrors []int `json:"write_errors,omitempty"`
	// Fill ends a job of writes, without an error, when the file system or the device is full.
	Fill bool `json:"fill,omitempty"`
	// Sync opens the file with O_DSYNC ("dsync") or O_SYNC ("sync").
	Sync string `json:"sync,omitempty"`
	// Fsync and FDataSync sync the file after every that many writes of a thread, once those in flight are complete. 0:
	// never.
	Fsync     int `json:"fsync,omitempty"`
	FDataSync int `json:"fdatasync,omitempty"`
	// SyncReads makes a mixed job sync after reads as well: after each read between such a sync and the next write, as
	// in fio.
	SyncReads bool `json:"sync_reads,omitempty"`
	// EndFsync syncs the file once at the end, inside the measured time.
	EndFsync bool `json:"end_fsync,omitempty"`
	// EndDataOnly makes EndFsync sync the data only (fdatasync).
	EndDataOnly bool `json:"end_data_only,omitempty"`
	// EndClose adds to the measured time the work that the file system does when a program closes the files: NFS, SMB
	// and FUSE write back buffered data then. It works on Linux only; elsewhere it does nothing.
	EndClose bool `json:"end_close,omitempty"`
	// RWMixRead is the percentage of reads of rw and randrw. nil: 50.
	RWMixRead *int `json:"rwmixread,omitempty"`
	// RateIOPS and Rate are the rate of each of the NumJobs, in I/Os and in bytes per second; they make the job an open
	// loop. 0: as fast as the depth allows (closed loop). RateProcess is how I/Os arrive: linear (the default), at even
	// intervals; poisson, at random times.
	RateIOPS int64 `json:"rate_iops,omitempty"`
	Rate     int64 `json:"rate,omitempty"`
	// WriteRateIOPS and WriteRate are the rate of the writes of a mixed job; RateIOPS or Rate is then the rate of its
	// reads. Reads and writes each have a schedule of their own, as in fio, and RWMixRead has no effect. 0: one
	// schedule covers both, as the mix draws them.
	WriteRateIOPS int64  `json:"write_rate_iops,omitempty"`
	WriteRate     int64  `json:"write_rate,omitempty"`
	RateProcess   string `json:"rate_process,omitempty"`
	// RateOnly is read or write. In a mixed job it makes RateIOPS or Rate an upper limit of that kind only, while the
	// other kind runs as fast as the depth allows. That is a closed loop. Empty: the rate applies to all.
	RateOnly string `json:"rate_only,omitempty"`
	// RateIgnoreThinkTime delays a schedule by each pause. Without it, I/Os that came due during a pause are done after
	// it.
	RateIgnoreThinkTime bool `json:"rate_ignore_thinktime,omitempty"`
	// ThinkTime is how long a thread pauses after every ThinkTimeBlocks (default 1) of its I/Os, once those in flight
	// are complete. ThinkTimeSpin is the part of the pause that it spends computing.
	ThinkTime       time.Duration `json:"thinktime,omitempty"`
	ThinkTimeSpin   time.Duration `json:"thinktime_spin,omitempty"`
	ThinkTimeBlocks int64         `json:"thinktime_blocks,omitempty"`
	// FlowWeight is the job's share of the I/Os of all jobs in one Flow (Run.Flow), relative to the weights of the
	// others. It begins no I/O while it is ahead of its share. It then waits FlowSleep, or as briefly as possible
	// without one. 0: the job is in no flow.
	FlowWeight int           `json:"flow,omitempty"`
	FlowSleep  time.Duration `json:"flow_sleep,omitempty"`
	// Data is the kind of data written. DataRandom (the default) is incompressible, and no two blocks are equal.
	// DataZero is zeros. DataPattern repeats Pattern from the beginning of each block. DataSource repeats Pattern from
	// block to block: each continues where the one before it ended. DataFixed is random, with one block per I/O in
	// flight that is written again and again.
	Data    string `json:"data,omitempty"`
	Pattern []byte `json:"pattern,omitempty"`
	// Compress is the percentage of each written 4 KiB, at its end, that holds zeros, or repeats Pattern if there is
	// one. Dedupe is the percentage of writes that repeat one block. Both need DataRandom.
	Compress int `json:"buffer_compress_percentage,omitempty"`
	Dedupe   int `json:"dedupe_percentage,omitempty"`
	// DedupeSet makes those writes repeat a block of a set instead. It needs Refill. nil: there is no set.
	DedupeSet *DedupeSet `json:"dedupe_set,omitempty"`
	// Refill generates random data anew for each write: RefillBefore or RefillWithin. Otherwise a thread's writes cycle
	// through data that was generated before the run. In an open loop, responses include the time of the refill either
	// way. Empty: no refill.
	Refill string `json:"refill,omitempty"`
	// Verify stamps written data with offset, sequence and checksum, and checks the stamps of read data. A wrong block
	// is a *VerifyError, which ends the run. A mixed job only stamps, because it also reads blocks that it has not
	// written yet.
	Verify bool `json:"verify,omitempty"`
	// PatternOnly, with Verify and DataPattern, stamps nothing. Each block read must be Pattern repeated from the
	// block's beginning, as it was written. It cannot detect a block of the same pattern from elsewhere or from an
	// earlier run.
	PatternOnly bool `json:"pattern_only,omitempty"`
	// StampUnit is the VerifyUnit of the job that wrote, for a job that reads in blocks of another size. 0: that of
	// this job.
	StampUnit int64 `json:"stamp_unit,omitempty"`
	// KeepWritten, with Verify, reports in Result.Written what the job wrote, so that another can read Only that back.
	KeepWritten bool `json:"keep_written,omitempty"`
	// VerifyBacklog, with KeepWritten, reads back the oldest writes of a thread each time that many have not been read
	// back (0: never). It reads VerifyBacklogBatch of them, or VerifyBacklog if that is 0. They count as reads, but do
	// not count towards the end of the job.
	VerifyBacklog      int64 `json:"verify_backlog,omitempty"`
	VerifyBacklogBatch int64 `json:"verify_backlog_batch,omitempty"`
	// Script lists everything that the job does, in one thread, with its own times. RW names the kinds of I/O in it, BS
	// is its largest block, and Size covers all of it. Runtime is the latest end. Empty: there is no script.
	Script Script `json:"script,omitempty"`
	// Target makes the job search for the greatest depth that keeps a latency. nil: the depth is IODepth.
	Target *LatencyTarget `json:"latency_target,omitempty"`
	// Zones makes the job do its region zone by zone, with gaps. nil: there are no zones.
	Zones *Zones `json:"zones,omitempty"`
	// Only makes a job of sequential reads read these parts of each of its files, once. Each part is read in blocks of
	// BS from its beginning; the last block may be shorter. Offset and Size must cover the parts.
	Only []Ranges `json:"only,omitempty"`
	// RandSeed makes the offsets and the data repeatable. 0: a fixed seed.
	RandSeed uint64 `json:"randseed,omitempty"`
	// DataSeed changes the data from that of another run with the same RandSeed, except for the blocks that Dedupe
	// repeats. 0: the data depends on RandSeed alone.
	DataSeed uint64 `json:"dataseed,omitempty"`
	// IOEngine is io_uring, linux-aio, psync, mmap, null, or windows-iocp on Windows. Empty: the strongest that works
	// here (Probe).
	IOEngine string `json:"ioengine,omitempty"`
	// CPUs are the processors that the threads may run on (fio's cpus_allowed). With SplitCPUs each of the NumJobs gets
	// one of them, in turn; the first gets number SplitFrom. Empty: all that the process may use.
	CPUs      []int `json:"cpus_allowed,omitempty"`
	SplitCPUs bool  `json:"split_cpus,omitempty"`
	SplitFrom int   `json:"split_from,omitempty"`
	// CPUNodes are the NUMA nodes whose processors the threads may run on, instead of CPUs. MemPolicy says where the
	// memory of their buffers and rings comes from, as in set_mempolicy(2): MemPrefer, MemBind and MemInterleave, of
	// MemNodes, or MemLocal. Empty: the policy of the process. Both work on Linux only.
	CPUNodes  []int  `json:"cpu_nodes,omitempty"`
	MemPolicy string `json:"mem_policy,omitempty"`
	MemNodes  []int  `json:"mem_nodes,omitempty"`
	// Priority is the priority of the job's threads and of all their I/Os. ReadPriorities and WritePriorities give
	// shares of the I/Os another, with io_uring and linux-aio. 0: that of the process. They work on Linux only.
	Priority        Priority        `json:"priority,omitempty"`
	ReadPriorities  []PriorityShare `json:"read_priorities,omitempty"`
	WritePriorities []PriorityShare `json:"write_priorities,omitempty"`
	// Status lets Run.Status report the run's progress. It can't be used with rounds.
	Status bool `json:"status,omitempty"`
	// PerJob asks for what each of the NumJobs measured (Result.Jobs), in addition to the sums.
	PerJob bool `json:"per_job,omitempty"`
	// PerFile asks, in addition to PerJob, for what each of the NumJobs did in each of the Files (JobResult.Files).
	PerFile bool `json:"per_file,omitempty"`
	// SampleEvery is the interval of Result.Samples, at least 10 ms. 0: the result of the function SampleEvery. With
	// PerJob each JobResult has samples too.
	SampleEvery time.Duration `json:"sample_every,omitempty"`
	// HistEvery is the interval of Result.Hists, at least 10 ms; 0: there are none. MaxHists is how many of them a
	// thread keeps, up to MostHists; 0 means 1.
	HistEvery time.Duration `json:"hist_every,omitempty"`
	MaxHists  int           `json:"max_hists,omitempty"`
	// Trace is the maximum number of I/Os in Result.Trace, from the beginning of the window: up to MaxTrace. The
	// threads share this number; their memory is allocated at the start.
	Trace int `json:"trace,omitempty"`
}

// End returns the offset at which the region of the last of the NumJobs ends in its file. Size must be set.
func (j Job) End() int64 {
	return j.Offset + j.Size + int64(max(j.NumJobs, 1)-1)*j.OffsetIncrement
}

// OpenLoop reports whether I/Os arrive by a schedule, regardless of the progress of earlier ones.
func (j Job) OpenLoop() bool { return (j.RateIOPS > 0 || j.Rate > 0) && j.RateOnly == "" }

// Offered returns the mean number of I/Os per second that the schedule of an open loop asks for, over all NumJobs; 0
// for a closed loop.
func (j Job) Offered() float64 {
	if !j.OpenLoop() {
		return 0
	}
	jobs := float64(max(j.NumJobs, 1))
	if j.hasWriteRate() {
		reads, writes := j.offered()
		return jobs * (reads + writes)
	}
	if j.RateIOPS > 0 {
		return jobs * float64(j.RateIOPS)
	}
	_, mean, _ := j.BlockSizes()
	return jobs * float64(j.Rate) / float64(max(mean, 1))
}

// hasWriteRate reports whether writes have a rate of their own, and so reads too.
func (j Job) hasWriteRate() bool { return j.WriteRateIOPS > 0 || j.WriteRate > 0 }

// offered returns the reads and the writes per second that each of the NumJobs schedules, if they have rates of their
// own.
func (j Job) offered() (reads, writes float64) {
	if j.RateIOPS > 0 {
		return float64(j.RateIOPS), float64(j.WriteRateIOPS)
	}
	j = j.WithDefaults()
	return float64(j.Rate) / meanSize(j.BS, j.ReadSplit), float64(j.WriteRate) / meanSize(j.BS, j.WriteSplit)
}

// Values of Job.MemPolicy, named as in fio.
const (
	MemPrefer     = "prefer"
	MemBind       = "bind"
	MemInterleave = "interleave"
	MemLocal      = "local"
)

// AllNodes, as the only element, stands for all memory nodes of the machine.
const AllNodes = -1

// Kinds of written data (Job.Data).
const (
	DataRandom  = "random"
	DataZero    = "zero"
	DataPattern = "pattern"
	DataSource  = "source"
	DataFixed   = "fixed"
)

// Values of Job.Refill: where the time to generate the data counts.
const (
	// RefillBefore generates the data before the write's latency begins, as fio does.
	RefillBefore = "before"
	// RefillWithin generates it within the write's latency, as DiskSpd does.
	RefillWithin = "within"
)
