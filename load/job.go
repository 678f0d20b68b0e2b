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
)

// Names of the I/O engines, from the strongest to the weakest, as fio calls
// them. Null does no I/O at all: it shows what the generator itself can do.
const (
	IOUring  = "io_uring"
	LinuxAIO = "linux-aio"
	PSync    = "psync"
	Null     = "null"
)

// A Job says what I/O is to be done, in fio's vocabulary. The zero value of a
// field means fio's default unless its comment says otherwise. Times are
// nanoseconds in JSON; sizes are bytes.
type Job struct {
	// RW is the pattern: read, write, randread, randwrite, rw or randrw. Writes
	// overwrite what is in the file. Random offsets are uniform, with replacement (fio's
	// norandommap), unless the job makes one pass; reads and writes of rw walk the file independently.
	RW string `json:"rw"`
	// BS is the size of one I/O in bytes. Default 4096.
	BS int64 `json:"bs,omitempty"`
	// IODepth is how many I/Os each of NumJobs threads keeps in flight. Default 1.
	// The psync engine reaches a depth by running that many threads.
	IODepth int `json:"iodepth,omitempty"`
	// NumJobs is how many independent threads do the job. Default 1. Sequential
	// jobs and single passes give each a slice of the region.
	NumJobs int `json:"numjobs,omitempty"`
	// Filename is the file. It has to exist and be fully written (see Layout),
	// unless the engine is null.
	Filename string `json:"filename,omitempty"`
	// Offset and Size bound the region of the file in bytes. Size 0 means to
	// the end of the file.
	Offset int64 `json:"offset,omitempty"`
	Size   int64 `json:"size,omitempty"`
	// Runtime is the measured time, RampTime the unmeasured time before it.
	// Runtime 0 means: until every block was touched once, or NumberIOs were done.
	Runtime  time.Duration `json:"runtime,omitempty"`
	RampTime time.Duration `json:"ramp_time,omitempty"`
	// NumberIOs ends each of the NumJobs after that many measured I/Os (0: no such end).
	NumberIOs int64 `json:"number_ios,omitempty"`
	// Direct asks for O_DIRECT. Default buffered, as in fio.
	Direct bool `json:"direct,omitempty"`
	// Sync opens the file with O_DSYNC ("dsync") or O_SYNC ("sync").
	Sync string `json:"sync,omitempty"`
	// Fsync and FDataSync sync the file after every that many writes of a thread (0:
	// never), when those in flight are complete.
	Fsync     int `json:"fsync,omitempty"`
	FDataSync int `json:"fdatasync,omitempty"`
	// EndFsync syncs the file once at the end, inside the measured time.
	EndFsync bool `json:"end_fsync,omitempty"`
	// RWMixRead is the percentage of reads of rw and randrw. nil: 50.
	RWMixRead *int `json:"rwmixread,omitempty"`
	// RateIOPS is the rate of each of the NumJobs: an open loop with a linear schedule.
	// 0: as fast as the depth allows (closed loop).
	RateIOPS int64 `json:"rate_iops,omitempty"`
	// RandSeed makes the offsets and the data repeatable. 0: a fixed seed.
	RandSeed uint64 `json:"randseed,omitempty"`
	// IOEngine is io_uring, linux-aio, psync or null. Empty: the strongest that
	// works here (Probe).
	IOEngine string `json:"ioengine,omitempty"`
}
