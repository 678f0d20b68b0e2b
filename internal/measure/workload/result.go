package workload

import (
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/httpload"
	"plimsoll/load"
)

// Syscalls is the Result.IOEngine of the named workloads, which make the same system calls as their application and have no
// I/O engine.
const Syscalls = "syscalls"

// A Result is what a worker measured of one workload in one trial. It holds evidence only; packages check and stats judge
// it.
type Result struct {
	// IOEngine did the I/O: io_uring, linux-aio, psync, null, or Syscalls; empty if nothing is stored, as with requests.
	IOEngine string `json:"io_engine"`
	// Buffers is load.Result's: whether io_uring worked with registered buffers. Empty for other engines.
	Buffers string `json:"buffers,omitempty"`
	// Elapsed is the length of the measured window.
	Elapsed time.Duration `json:"elapsed"`
	// WallElapsed is the same window by the wall clock. The two differ when
	// the clock was set or the machine slept.
	WallElapsed time.Duration `json:"wall_elapsed"`
	// Start is when the window began, by the worker's wall clock.
	Start time.Time `json:"start"`
	// Begun is Start by the machine's monotonic clock, which all of its processes share; 0: not known.
	Begun time.Duration `json:"begun,omitempty"`
	// Halted is how long the worker's process stood still in the window although no I/O held it up.
	Halted []Halted `json:"halted,omitempty"`
	// Starved is the share of the window in which the worker's threads were ready to run but had no CPU, 0 to 1. It is the
	// mean over the threads, weighted by how long each ran or wanted to run (schedstat). -1: not known.
	Starved float64 `json:"starved,omitempty"`
	// Fetched is how many pages of the worker's memory were read back from storage in the window, because the kernel had
	// taken them away (major faults).
	Fetched int64 `json:"fetched,omitempty"`
	// Classes holds the operations. The first class counts for the rate. They are read, write and sync of block jobs;
	// append; commit, write and sync of wal; file, stat, read and write of tree; command, with the bytes that it read and
	// wrote.
	Classes []load.Class `json:"classes"`
	// Samples holds one entry each load.SampleEvery: a second, less in a short window.
	Samples []load.Sample `json:"samples,omitempty"`
	Usage   load.Usage    `json:"usage"`
	// Stage holds the results of the jobs of a stage, in the order of the spec; Classes are their sums.
	Stage []StageResult `json:"stage,omitempty"`
	// Marks are the stage's own files that their file system can't mark, for Spec.Marks of the session's next stage.
	Marks Marks `json:"marks,omitempty"`
	// HTTP is the tally of the requests of http. A record keeps it without the timing of each request.
	HTTP *httpload.Tally `json:"http,omitempty"`
	// Command says how the program of command ended, Source what tree and command read.
	Command *CommandEnd  `json:"command,omitempty"`
	Source  *SourceState `json:"source,omitempty"`
	// ProcRead and ProcWritten are the bytes that the kernel charged to the worker at the storage layer in the window
	// (/proc/self/io read_bytes, write_bytes): 0 for reads that the page cache served. -1: unknown.
	ProcRead    int64 `json:"proc_read"`
	ProcWritten int64 `json:"proc_written"`
	// Disks holds the counters of every block device that did I/O in the window for any program, from /proc/diskstats.
	Disks []DiskDelta `json:"disks,omitempty"`
	// CountsFlushes is set where the kernel counts the flushes of Disks: Linux does since 5.5.
	CountsFlushes bool `json:"counts_flushes,omitempty"`
	// Cgroup holds the bytes that the kernel charged to the worker's group in the window, by device, if the container shows
	// its own group; else nil. On the host it is the root group, and means nothing.
	Cgroup []CgroupDelta `json:"cgroup"`
	// Throttled is how long and how often the CPU controller stopped the worker's group in the window. If the worker can't
	// see its group, plimsoll reads it from outside, with the ramp included.
	Throttled Throttled `json:"throttled,omitzero"`
	// Late, MaxLate and Missed are for jobs with a rate: I/Os that were started after their time, the worst delay, and I/Os
	// that came due but were never started.
	Late    int64         `json:"late,omitempty"`
	MaxLate time.Duration `json:"max_late,omitempty"`
	Missed  int64         `json:"missed,omitempty"`
	// Drained is how long after the window the last operation in flight ended.
	Drained time.Duration `json:"drained,omitempty"`
	// File is the state of the file of a block job.
	File FileState `json:"file,omitzero"`
	// Prepared is how long it took to lay out files before the window.
	Prepared time.Duration `json:"prepared"`
	// Settled is how long after the window it took until buffered writes were on the storage.
	Settled time.Duration `json:"settled,omitempty"`
	// Flushed is what the device wrote in that time, if the kernel's flusher, and not the worker, wrote them back; nil
	// otherwise.
	Flushed *Flushed `json:"flushed,omitempty"`
	// Verified is what was checked of a job that verifies.
	Verified VerifyState `json:"verified,omitzero"`
	// Notes are doubts of the load generator or the workload itself, such as that linux-aio is not asynchronous with
	// buffered I/O, or that files could not be removed.
	Notes []string `json:"notes,omitempty"`
	// Rounds is the course of a job with a steady state; nil for others. All figures are then of the rounds that count,
	// except File, Prepared, Settled, and Usage.MaxRSS, which is the peak of the whole run.
	Rounds *Rounds `json:"rounds,omitempty"`
	// Host is how busy the machine was in the window, from /proc/stat and
	// /proc/pressure.
	Host HostDelta `json:"host,omitzero"`
	// CPUs holds the times of each of the machine's processors in the window of a stage; nil where the system doesn't
	// report them.
	CPUs []CPUDelta `json:"cpus,omitempty"`
}

// Flushed is what a device wrote after the window.
type Flushed struct {
	Writes int64 `json:"writes"`
	Bytes  int64 `json:"bytes"`
}

// A DiskDelta is what one block device did in the measured window.
type DiskDelta struct {
	Number device.Number `json:"number"`
	Name   string        `json:"name"`
	Reads  int64         `json:"reads"`
	Writes int64         `json:"writes"`
	// ReadBytes and WrittenBytes are sectors x 512.
	ReadBytes    int64 `json:"read_bytes"`
	WrittenBytes int64 `json:"written_bytes"`
	// ReadMerges and WriteMerges are requests that were merged into others; ReadTime and WriteTime
	// are the requests' times, summed up.
	ReadMerges  int64         `json:"read_merges,omitempty"`
	WriteMerges int64         `json:"write_merges,omitempty"`
	ReadTime    time.Duration `json:"read_time,omitempty"`
	WriteTime   time.Duration `json:"write_time,omitempty"`
	// Busy is the time in which at least one request was in flight.
	Busy time.Duration `json:"busy"`
	// Flushes is how often the device's own cache was flushed, if the kernel counts that. Devices that pass every request
	// on (LVM, md) count none.
	Flushes int64 `json:"flushes,omitempty"`
	// FlushTime is how long the flushes took. A device does one at a time.
	FlushTime time.Duration `json:"flush_time,omitempty"`
}

// A CgroupDelta is what one group did on one block device in the measured window.
type CgroupDelta struct {
	Number       device.Number `json:"number"`
	ReadBytes    int64         `json:"read_bytes"`
	WrittenBytes int64         `json:"written_bytes"`
}

// Throttled counts the stops of the CPU controller (cpu.stat).
type Throttled struct {
	Periods int64         `json:"periods"`
	Time    time.Duration `json:"time"`
	// Groups are the stopped groups, the worker's own or those above it, as plimsoll saw them from outside, with the ramp
	// included. Empty: they can't be seen from there.
	Groups []ThrottledGroup `json:"groups,omitempty"`
}

// A ThrottledGroup is a control group that the CPU controller stopped, with all processes in it and below it.
type ThrottledGroup struct {
	// Group is its name, as /proc/<pid>/cgroup has it.
	Group string `json:"group"`
	// CPUs is its quota, in CPUs.
	CPUs    float64       `json:"cpus"`
	Periods int64         `json:"periods"`
	Time    time.Duration `json:"time"`
}

// HostDelta is the load of the machine in the window.
type HostDelta struct {
	// CPUs is how many the worker's machine has, which may be a virtual machine with fewer than this one; 0: not known.
	CPUs int `json:"cpus,omitempty"`
	// CPUBusy is the busy share of all CPUs, 0 to 1, the worker's own included.
	CPUBusy float64 `json:"cpu_busy"`
	// Steal is the share that the hypervisor took, 0 to 1.
	Steal float64 `json:"steal"`
	// CPUWait is the share of time in which the processors of Plimsoll's virtual machine waited for a CPU of the host, 0 to
	// 1. The virtual machine can't see that itself.
	CPUWait float64 `json:"cpu_wait,omitempty"`
	// IOSome is the share of time in which a task waited for I/O (PSI io some), 0 to 1, -1 if the kernel doesn't report it.
	IOSome float64 `json:"io_some"`
	// MemorySome is the same for memory: a task waited for free memory, or for pages of its own that had been taken from
	// it.
	MemorySome float64 `json:"memory_some,omitempty"`
	// Allowed is how many of the CPUs the worker may use (cpuset, sched_setaffinity); 0: not known.
	Allowed int `json:"allowed,omitempty"`
}

// FileState is what is known of the file under a block job.
type FileState struct {
	// Size is its length in bytes.
	Size int64 `json:"size"`
	// Extents, Unwritten, Shared and Delalloc count the extents in the job's region (FIEMAP). -1: the file system doesn't
	// report them.
	Extents   int `json:"extents"`
	Unwritten int `json:"unwritten"`
	Shared    int `json:"shared"`
	Delalloc  int `json:"delalloc"`
	// DirectAsked is whether the job asked for O_DIRECT, DirectOpen whether open accepted it, and DirectError the error if
	// it didn't.
	DirectAsked bool   `json:"direct_asked"`
	DirectOpen  bool   `json:"direct_open"`
	DirectError string `json:"direct_error,omitempty"`
	// DIOAlign is statx's stx_dio_offset_align: 0 means the file has no direct I/O, -1 that the kernel doesn't report it.
	DIOAlign int64 `json:"dio_align"`
	// Resident is the share of the region in the page cache after the run, 0 to 1, -1: unknown.
	Resident float64 `json:"resident"`
	// FirstTouch is the write bandwidth of the layout in bytes per second, 0 if the file existed already.
	FirstTouch float64 `json:"first_touch,omitempty"`
}

// Ops returns the number of operations of the class that counts: reads and
// writes together for block jobs.
func (r *Result) Ops() int64 {
	ops, _ := r.counted()
	return ops
}

// InFlight returns the number of reads and writes, or of the class that counts, that were in flight when the window ended.
func (r *Result) InFlight() int64 {
	var n int64
	for i, c := range r.Classes {
		if i > 0 && (r.Classes[0].Name != "read" && r.Classes[0].Name != "write") {
			break
		}
		if c.Name != "sync" {
			n += c.InFlight
		}
	}
	return n
}

// AtLeast returns the number of operations of any class that never ended while the worker waited.
func (r *Result) AtLeast() int64 {
	var n int64
	for _, c := range r.Classes {
		n += c.AtLeast
	}
	return n
}

// Bytes returns the bytes the application moved in the window: reads and
// writes of every class.
func (r *Result) Bytes() (read, written int64) {
	for _, c := range r.Classes {
		switch c.Name {
		case "read":
			read += c.Bytes
		case "write", "append":
			written += c.Bytes
		}
	}
	return read, written
}

// Value returns the figure of metric m: a rate over the measured window, or its length. It is
// 0 for an empty window.
func (r *Result) Value(m Metric) float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	ops, bytes := r.counted()
	switch m.Unit {
	case Seconds:
		return r.Elapsed.Seconds()
	case "B/s":
		return float64(bytes) / r.Elapsed.Seconds()
	}
	return float64(ops) / r.Elapsed.Seconds()
}

// counted sums what the metric counts: the reads and writes of a block job, or
// the first class of a named workload.
func (r *Result) counted() (ops, bytes int64) {
	for i, c := range r.Classes {
		if i > 0 && (r.Classes[0].Name != "read" && r.Classes[0].Name != "write") {
			break
		}
		if c.Name == "sync" {
			continue
		}
		ops += c.Ops
		bytes += c.Bytes
	}
	return ops, bytes
}
