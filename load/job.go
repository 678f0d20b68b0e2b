package load

import "time"

// Patterns of a job, in fio's words (the rw option).
const (
	Read      = "read"
	Write     = "write"
	RandRead  = "randread"
	RandWrite = "randwrite"
	RW        = "rw"
	RandRW    = "randrw"
	// Trim and RandTrim discard blocks of a block device, one at a time in each thread. The data there is lost.
	Trim     = "trim"
	RandTrim = "randtrim"
	// TrimWrite and RandTrimWrite discard a block and then write it. Such a pair is one I/O of NumberIOs and IOSize.
	TrimWrite     = "trimwrite"
	RandTrimWrite = "randtrimwrite"
)

// Names of the I/O engines, from the strongest to the weakest, as fio calls
// them. Null does no I/O at all: it shows what the generator itself can do.
const (
	IOUring  = "io_uring"
	LinuxAIO = "linux-aio"
	PSync    = "psync"
	Null     = "null"
	// MMap copies to and from a mapping of the file, one I/O at a time in each thread: page faults do the I/O. It is never
	// chosen as the strongest, and only Linux has it here.
	MMap = "mmap"
	// WindowsIOCP is overlapped I/O with a completion port, which only Windows has.
	WindowsIOCP = "windows-iocp"
)

// Processes by which the I/Os of an open loop arrive (RateProcess), in fio's words.
const (
	Linear  = "linear"
	Poisson = "poisson"
)

// Orders in which a job goes through its files (FileService), in fio's words.
const (
	RoundRobin = "roundrobin"
	Sequential = "sequential"
	Random     = "random"
)

// A Job says what I/O is to be done, in fio's vocabulary. The zero value of a
// field means fio's default unless its comment says otherwise. Times are
// nanoseconds in JSON; sizes are bytes.
type Job struct {
	// RW is the pattern: read, write, randread, randwrite, rw, randrw, trim, randtrim, trimwrite or randtrimwrite. Writes
	// overwrite what is in the file. Random offsets are uniform, with replacement (fio's
	// norandommap), unless the job makes one pass; reads and writes of rw walk the file independently.
	RW string `json:"rw"`
	// RWNumber is the number behind fio's rw, as in rw=read:4k. A sequential pattern leaves
	// that many bytes out after each I/O (less than nothing: it goes back); a random
	// one does that many I/Os in sequence before each new random offset.
	RWNumber int64 `json:"rw_number,omitempty"`
	// BS is the size of one I/O in bytes. Default 4096.
	BS int64 `json:"bs,omitempty"`
	// ReadSplit and WriteSplit give the reads and the writes sizes of their own
	// (fio's bssplit, bsrange and the second value of bs). Empty: all are BS.
	ReadSplit  []SizeShare `json:"read_split,omitempty"`
	WriteSplit []SizeShare `json:"write_split,omitempty"`
	// BlockAlign is what random offsets are multiples of, from Offset. 0: the smallest I/O.
	BlockAlign int64 `json:"blockalign,omitempty"`
	// IODepth is how many I/Os each of NumJobs threads keeps in flight. Default 1.
	// The psync engine reaches a depth by running that many threads.
	IODepth int `json:"iodepth,omitempty"`
	// NumJobs is how many independent threads do the job. Default 1. Sequential
	// jobs and single passes give each a slice of the region, unless WholeRegion.
	NumJobs int `json:"numjobs,omitempty"`
	// WholeRegion lets each of the NumJobs do the whole region, as fio does; OffsetIncrement
	// moves the region of each by that many bytes from the one before it.
	WholeRegion     bool  `json:"whole_region,omitempty"`
	OffsetIncrement int64 `json:"offset_increment,omitempty"`
	// SharedCursor makes the threads of a sequential job share one position, so that
	// together they walk the region once.
	SharedCursor bool `json:"shared_cursor,omitempty"`
	// Parallel lets each of the IODepth I/Os in flight of a sequential job walk the region by itself, all from one start, as
	// diskspd's -p does: every block is done by each of them. Reads and writes of one are one walk.
	Parallel bool `json:"parallel,omitempty"`
	// StartIncrement moves the first offset of each of the NumJobs of a sequential job by that many
	// bytes from the one before it, in one and the same region: at its end all go on at its beginning. It
	// needs WholeRegion.
	StartIncrement int64 `json:"start_increment,omitempty"`
	// OneSequence lets reads and writes of a mixed job follow one another through the region, as
	// diskspd does; else they walk it independently, as fio's do. With PercentageRandom the
	// I/Os that follow one at a random offset are also of its kind.
	OneSequence bool `json:"one_sequence,omitempty"`
	// Filename is the file. It has to exist and be fully written (see Layout),
	// unless the engine is null. Files are several instead, of which each has
	// the region; FileService is how the job goes through them: roundrobin (the default),
	// sequential or random.
	Filename string   `json:"filename,omitempty"`
	Files    []string `json:"files,omitempty"`
	// Sizes are how long the region is in each of Files where they differ; Size is the longest then. A region that is shorter than a block is left
	// out. nil: all have Size.
	Sizes       []int64 `json:"sizes,omitempty"`
	FileService string  `json:"file_service_type,omitempty"`
	// Offset and Size bound the region of the file in bytes. Size 0 means to
	// the end of the file.
	Offset int64 `json:"offset,omitempty"`
	Size   int64 `json:"size,omitempty"`
	// Tail lets the last I/O of a pass be shorter than BS, where the region is no whole number of them: at the end of a file
	// that is read from beginning to end, once, by one thread of psync, as dd does. Else what is left there isn't done.
	Tail bool `json:"tail,omitempty"`
	// Peer is the other end of a copy, as dd makes one: the device that each write's data is read from right before it, or
	// that each read's data is written to right after it. The time at the peer is in the window, and in no I/O's latency. It is
	// one of PeerZero, PeerRandom and PeerNull, for one thread of psync.
	Peer string `json:"peer,omitempty"`
	// Runtime is the measured time, RampTime the unmeasured time before it, StartDelay
	// the time before that in which nothing is done.
	// Runtime 0 means one pass, or as IOSize, NumberIOs or Loops say: as many I/Os as the region has blocks. They touch
	// each block once, but for rw, whose reads and writes walk apart: each does its share from the region's start.
	Runtime    time.Duration `json:"runtime,omitempty"`
	RampTime   time.Duration `json:"ramp_time,omitempty"`
	StartDelay time.Duration `json:"startdelay,omitempty"`
	// CoolDown is the unmeasured time after Runtime in which the threads go on.
	CoolDown time.Duration `json:"cooldown,omitempty"`
	// Round divides the measured window into rounds of that length (Run.OnRound), from 40 ms on; the job then ends by
	// its Runtime, or by Run.End. 0: no rounds.
	Round time.Duration `json:"round,omitempty"`
	// NumberIOs ends each of the NumJobs after that many measured I/Os (0: no such end).
	NumberIOs int64 `json:"number_ios,omitempty"`
	// IOSize ends each of the NumJobs after that many measured bytes (0: no such end).
	IOSize int64 `json:"io_size,omitempty"`
	// Loops repeats a job without Runtime that often. 0 is 1.
	Loops int64 `json:"loops,omitempty"`
	// RandomMap visits each block once before any comes twice, as fio does
	// without norandommap. A job of one pass always does, but with several sizes or a BlockAlign other than BS, which have no map. Runs of
	// RWNumber and PercentageRandom have those begin at such blocks that are at a random offset.
	RandomMap bool `json:"random_map,omitempty"`
	// NoRandomMap has a job without Runtime draw each offset from the whole region, as fio does with norandommap: in as many I/Os as
	// a pass has, some blocks come twice and others never.
	NoRandomMap bool `json:"norandommap,omitempty"`
	// Distribution is how often the blocks of a random pattern are visited, in the words of fio's
	// random_distribution: random (the default), zipf:THETA, pareto:H,
	// normal:DEVIATION or zoned:ACCESS/SIZE:... . See ParseDistribution.
	Distribution string `json:"random_distribution,omitempty"`
	// PercentageRandom is which share of a random pattern's I/Os go to a random
	// offset; the others follow the I/O before them. nil: 100.
	PercentageRandom *int `json:"percentage_random,omitempty"`
	// PercentageRandomWrites is that share of the writes, where it is another one than that of the reads. nil: PercentageRandom.
	PercentageRandomWrites *int `json:"percentage_random_writes,omitempty"`
	// Direct asks for O_DIRECT. Default buffered, as in fio.
	Direct bool `json:"direct,omitempty"`
	// AnyAlign leaves it to the file system whether it takes direct I/O that is not in whole sectors, as some in user space do. Else it is
	// refused.
	AnyAlign bool `json:"any_align,omitempty"`
	// DropCache drops what a thread's I/Os touch from the page cache, as far as the kernel lets go, before each pass over the region but the
	// first, as fio's invalidate does. An IOSize below the region makes a pass, too; random offsets without RandomMap have no other.
	// Only Linux does it.
	DropCache bool `json:"drop_cache,omitempty"`
	// Hint tells the kernel how the file will be read, where a buffered job is to read ahead as other programs do: Random
	// (nothing ahead) or Sequential (twice as far). Empty: the kernel finds out. Systems other than Linux and Windows take none.
	Hint string `json:"hint,omitempty"`
	// LargePages takes the buffers from the pages that Linux keeps for that (vm.nr_hugepages). There is no silent fallback.
	LargePages bool `json:"large_pages,omitempty"`
	// Append opens the file with O_APPEND: on Linux each write goes to the end of the file, whatever Offset says. A stage sets Offset to
	// where the end is at the start.
	Append bool `json:"append,omitempty"`
	// ReadErrors and WriteErrors are the system's numbers of errors after which reads and writes go on: such an I/O is over, and counted
	// in Class.Failed. Any other error ends the run.
	ReadErrors  []int `json:"read_errors,omitempty"`
	WriteErrors []int `json:"write_errors,omitempty"`
	// Fill ends a job of writes, without an error, when the file system or the device is full.
	Fill bool `json:"fill,omitempty"`
	// Sync opens the file with O_DSYNC ("dsync") or O_SYNC ("sync").
	Sync string `json:"sync,omitempty"`
	// Fsync and FDataSync sync the file after every that many writes of a thread (0:
	// never), when those in flight are complete.
	Fsync     int `json:"fsync,omitempty"`
	FDataSync int `json:"fdatasync,omitempty"`
	// SyncReads has a mixed job sync after each read too, from such a sync to the next write, as fio does.
	SyncReads bool `json:"sync_reads,omitempty"`
	// EndFsync syncs the file once at the end, inside the measured time.
	EndFsync bool `json:"end_fsync,omitempty"`
	// EndDataOnly makes that sync one of the data only (fdatasync).
	EndDataOnly bool `json:"end_data_only,omitempty"`
	// EndClose adds to the measured time what the file system does when a program closes the files: NFS, SMB and FUSE write back what was
	// buffered then. Linux only; elsewhere it does nothing.
	EndClose bool `json:"end_close,omitempty"`
	// RWMixRead is the percentage of reads of rw and randrw. nil: 50.
	RWMixRead *int `json:"rwmixread,omitempty"`
	// RateIOPS and Rate are the rate of each of the NumJobs in I/Os and in bytes a second: an open
	// loop. 0: as fast as the depth allows (closed loop). RateProcess is how
	// they arrive: linear (the default), evenly; poisson, at random times.
	RateIOPS int64 `json:"rate_iops,omitempty"`
	Rate     int64 `json:"rate,omitempty"`
	// WriteRateIOPS and WriteRate are those of the writes of a mixed job, whose reads then have RateIOPS or Rate
	// to themselves: reads and writes each keep a schedule of their own, as fio's do, and RWMixRead says nothing. 0: what
	// the mix draws follows one schedule.
	WriteRateIOPS int64  `json:"write_rate_iops,omitempty"`
	WriteRate     int64  `json:"write_rate,omitempty"`
	RateProcess   string `json:"rate_process,omitempty"`
	// RateOnly, read or write, has RateIOPS or Rate hold only these in a mixed job: the most they do, while the others go on as
	// fast as the depth allows. That is a closed loop. Empty: all.
	RateOnly string `json:"rate_only,omitempty"`
	// RateIgnoreThinkTime puts a schedule off by each pause. Else what came due in it is made up for after it.
	RateIgnoreThinkTime bool `json:"rate_ignore_thinktime,omitempty"`
	// ThinkTime is how long a thread pauses after every ThinkTimeBlocks (default 1) of its I/Os,
	// when those in flight are complete, and ThinkTimeSpin how much of that it computes.
	ThinkTime       time.Duration `json:"thinktime,omitempty"`
	ThinkTimeSpin   time.Duration `json:"thinktime_spin,omitempty"`
	ThinkTimeBlocks int64         `json:"thinktime_blocks,omitempty"`
	// FlowWeight is the job's share of the I/Os of all jobs in one Flow (Run.Flow), in relation to the weights of the others: it begins none
	// while it has done more. It then waits FlowSleep, or as short as can be. 0: it is in none.
	FlowWeight int           `json:"flow,omitempty"`
	FlowSleep  time.Duration `json:"flow_sleep,omitempty"`
	// Data is what is written: DataRandom (the default), which can't be compressed and in which
	// no two blocks are equal, DataZero, DataPattern, which repeats Pattern in each block from its beginning, DataSource,
	// which repeats it from block to block: each goes on where the one before it ended, or DataFixed, which is random, with one block for
	// each I/O in flight that is written over and over.
	Data    string `json:"data,omitempty"`
	Pattern []byte `json:"pattern,omitempty"`
	// Compress is how many percent of each written 4 KiB, at their end, are zeros, or Pattern over and over if there is one, and Dedupe how many percent of
	// the writes repeat one block; both with DataRandom only.
	Compress int `json:"buffer_compress_percentage,omitempty"`
	Dedupe   int `json:"dedupe_percentage,omitempty"`
	// DedupeSet has those writes repeat one of a set of blocks instead, with Refill. nil: there is none.
	DedupeSet *DedupeSet `json:"dedupe_set,omitempty"`
	// Refill makes random data anew for each write, where else the thread's writes cycle through data that it made before the run: RefillBefore
	// or RefillWithin. Responses of an open loop have that time in them either way. Empty: it doesn't.
	Refill string `json:"refill,omitempty"`
	// Verify stamps what is written with offset, sequence and checksum, and checks the stamp of
	// what is read; a block that isn't what it should be is a *VerifyError, which ends the run. A mixed job only stamps: it reads
	// what it hasn't written yet, too.
	Verify bool `json:"verify,omitempty"`
	// PatternOnly, with Verify and DataPattern, stamps nothing: each block that is read has to be Pattern over and over, from the block's
	// beginning, as it was written. A block of the same pattern elsewhere, or of an earlier run, is not told apart.
	PatternOnly bool `json:"pattern_only,omitempty"`
	// StampUnit is the VerifyUnit of the job that wrote, for one that reads in blocks of another size. 0: that of this job.
	StampUnit int64 `json:"stamp_unit,omitempty"`
	// KeepWritten, with Verify, has Result.Written say what the job wrote, so that another can read Only that back.
	KeepWritten bool `json:"keep_written,omitempty"`
	// VerifyBacklog, with KeepWritten, reads back the oldest writes of a thread each time that it has so many not read back (0: never):
	// VerifyBacklogBatch of them, and as many as VerifyBacklog if that is 0. They count as reads, and end no job.
	VerifyBacklog      int64 `json:"verify_backlog,omitempty"`
	VerifyBacklogBatch int64 `json:"verify_backlog_batch,omitempty"`
	// Script is all that the job does, in one thread, with the times of its own: RW is what it has of reads and writes, BS its largest block, and
	// Size covers all of it. Runtime is the latest end. Empty: there is none.
	Script Script `json:"script,omitempty"`
	// Target has the job search for the depth that keeps a latency. nil: it has IODepth.
	Target *LatencyTarget `json:"latency_target,omitempty"`
	// Zones has the job do a part of its region after the other, with gaps. nil: there are none.
	Zones *Zones `json:"zones,omitempty"`
	// Only has a job of sequential reads read these parts of each of its files, once, in blocks of BS from the beginning of each part on, the
	// last of which may be shorter. Offset and Size have to cover them.
	Only []Ranges `json:"only,omitempty"`
	// RandSeed makes the offsets and the data repeatable. 0: a fixed seed.
	RandSeed uint64 `json:"randseed,omitempty"`
	// DataSeed makes the data other than that of another run with the same RandSeed, but for what Dedupe repeats. 0: RandSeed is its seed alone.
	DataSeed uint64 `json:"dataseed,omitempty"`
	// IOEngine is io_uring, linux-aio, psync, null, or windows-iocp on Windows. Empty: the strongest that
	// works here (Probe).
	IOEngine string `json:"ioengine,omitempty"`
	// CPUs are the processors that the threads may run on (fio's cpus_allowed); with SplitCPUs
	// each of the NumJobs gets one of them, in turn, the first number SplitFrom. Empty: all that the
	// process may use.
	CPUs      []int `json:"cpus_allowed,omitempty"`
	SplitCPUs bool  `json:"split_cpus,omitempty"`
	SplitFrom int   `json:"split_from,omitempty"`
	// CPUNodes are the memory nodes whose processors the threads may run on, instead of CPUs: NUMA nodes by number. MemPolicy is where the
	// memory of their buffers and rings is taken from, as set_mempolicy(2) has it: MemPrefer, MemBind and MemInterleave, of MemNodes,
	// or MemLocal; empty: wherever the process has it. Only Linux knows both.
	CPUNodes  []int  `json:"cpu_nodes,omitempty"`
	MemPolicy string `json:"mem_policy,omitempty"`
	MemNodes  []int  `json:"mem_nodes,omitempty"`
	// Priority is that of the job's threads and of all their I/Os, ReadPriorities and WritePriorities are shares of them that have another, with
	// io_uring and linux-aio. 0: that of the process. Only Linux has them.
	Priority        Priority        `json:"priority,omitempty"`
	ReadPriorities  []PriorityShare `json:"read_priorities,omitempty"`
	WritePriorities []PriorityShare `json:"write_priorities,omitempty"`
	// Status has Run.Status tell how far the run is. It is not for a job with rounds.
	Status bool `json:"status,omitempty"`
	// PerJob asks for what each of the NumJobs measured (Result.Jobs) beside the sums.
	PerJob bool `json:"per_job,omitempty"`
	// PerFile asks, beside PerJob, for what each of the NumJobs did in each of the Files (JobResult.Files).
	PerFile bool `json:"per_file,omitempty"`
	// SampleEvery is the interval of Result.Samples, at least 10 ms. 0: that of the function of that name. With PerJob each
	// JobResult has samples too.
	SampleEvery time.Duration `json:"sample_every,omitempty"`
	// HistEvery is the interval of Result.Hists, at least 10 ms; 0: there are none. MaxHists is how many a thread keeps, up to
	// MostHists; 0 is 1.
	HistEvery time.Duration `json:"hist_every,omitempty"`
	MaxHists  int           `json:"max_hists,omitempty"`
	// Trace is how many I/Os Result.Trace keeps at most, from the beginning of the window on: up to MaxTrace. The threads share them, and
	// have their memory from the start.
	Trace int `json:"trace,omitempty"`
}

// End is where the region of the last of the NumJobs ends in its file, in bytes; Size has to be given.
func (j Job) End() int64 {
	return j.Offset + j.Size + int64(max(j.NumJobs, 1)-1)*j.OffsetIncrement
}

// OpenLoop reports whether I/Os arrive by a schedule, whatever becomes of those before.
func (j Job) OpenLoop() bool { return (j.RateIOPS > 0 || j.Rate > 0) && j.RateOnly == "" }

// Offered is how many I/Os a second the schedule of an open loop asks for in the mean, of all NumJobs; 0 for a closed
// loop.
func (j Job) Offered() float64 {
	if !j.OpenLoop() {
		return 0
	}
	jobs := float64(max(j.NumJobs, 1))
	if j.apart() {
		reads, writes := j.offered()
		return jobs * (reads + writes)
	}
	if j.RateIOPS > 0 {
		return jobs * float64(j.RateIOPS)
	}
	_, mean, _ := j.BlockSizes()
	return jobs * float64(j.Rate) / float64(max(mean, 1))
}

// apart reports whether reads and writes have rates of their own.
func (j Job) apart() bool { return j.WriteRateIOPS > 0 || j.WriteRate > 0 }

// offered are the reads and the writes a second that the schedules of each of the NumJobs ask for, where they are apart.
func (j Job) offered() (reads, writes float64) {
	if j.RateIOPS > 0 {
		return float64(j.RateIOPS), float64(j.WriteRateIOPS)
	}
	j = j.WithDefaults()
	return float64(j.Rate) / meanSize(j.BS, j.ReadSplit), float64(j.WriteRate) / meanSize(j.BS, j.WriteSplit)
}

// Values of Job.MemPolicy, in fio's words.
const (
	MemPrefer     = "prefer"
	MemBind       = "bind"
	MemInterleave = "interleave"
	MemLocal      = "local"
)

// AllNodes, as the only one, stands for all memory nodes of the machine.
const AllNodes = -1

// Kinds of written data (Job.Data).
const (
	DataRandom  = "random"
	DataZero    = "zero"
	DataPattern = "pattern"
	DataSource  = "source"
	DataFixed   = "fixed"
)

// Values of Job.Refill: where the time goes that making the data takes.
const (
	// RefillBefore makes the data before the write's latency begins, as fio does.
	RefillBefore = "before"
	// RefillWithin makes it within the write's latency, as DiskSpd does.
	RefillWithin = "within"
)
