// Package load generates block I/O on a file and measures each I/O.
//
// A Job describes the I/O in fio's terms. Layout writes its file, Prepare opens it and sets up threads, rings and
// buffers, and Run.Start does the I/O:
//
//	run, err := load.Prepare(job)
//	...
//	defer run.Close()
//	res, err := run.Start(ctx, nil)
//
// Each of the job's threads is an operating system thread with its own ring, and with buffers outside Go's heap. Its
// loop allocates nothing, uses no channel, and records every I/O in a histogram. All threads decide by the clock, not
// by a signal, whether an I/O completed inside the measured window, so the edges of the window cost nothing. The rate
// counts the I/Os that completed in the window. An I/O in flight at the end of the window is awaited and counts in the
// latencies, as in fio; otherwise a stall would show only if it ended in time.
//
// One thing is easily got wrong: a run without a rate is a closed loop, and its latency holds for its depth only. A
// stall of the generator or the disk then affects only the I/Os in flight, not all those that would have arrived. An
// open loop (RateIOPS) also records the response time, measured from the schedule.
//
// Linux has all engines but one. Windows has that one: overlapped I/O with completion ports. Other systems have psync
// and null, without direct I/O.
package load

import (
	"time"

	"plimsoll/hist"
)

// A Class holds the measurements of one kind of operation.
type Class struct {
	// Name is the operation: "read", "write" or "sync" for block jobs.
	Name string `json:"name"`
	// Ops and Bytes count what completed inside the measured window.
	Ops   int64 `json:"ops"`
	Bytes int64 `json:"bytes"`
	// InFlight counts the operations that were in flight when the window ended. They are in Lat and Response; otherwise
	// a stall at the end would go unseen. They are not in Ops and Bytes, from which the rate is computed.
	InFlight int64 `json:"in_flight,omitempty"`
	// AtLeast counts those of InFlight that had not ended when Plimsoll stopped waiting; their latency is the time
	// until then.
	AtLeast int64 `json:"at_least,omitempty"`
	// Failed counts the operations of the window that failed with an error after which the job goes on (Job.ReadErrors,
	// Job.WriteErrors). No other figure includes them.
	Failed int64 `json:"failed,omitempty"`
	// Lat holds the latencies of all Ops and of those InFlight, in nanoseconds. A latency is the service time, from
	// when the thread took up the I/O to when it saw its completion. In a closed loop it is the latency at the job's
	// depth.
	Lat *hist.Histogram `json:"lat,omitempty"`
	// Response holds the response times of an open loop (rate_iops), measured from when each I/O should have started by
	// the schedule. nil in a closed loop.
	Response *hist.Histogram `json:"response,omitempty"`
	// Priorities divides Lat by the priorities of the I/Os, if the job gives some I/Os a priority of their own
	// (Job.ReadPriorities, Job.WritePriorities). It has all possible priorities, the job's own first.
	Priorities []PriorityLat `json:"priorities,omitempty"`
}

// A Sample covers one interval of the measured window (SampleEvery).
type Sample struct {
	// At is the end of the interval, from the start of the window.
	At time.Duration `json:"at"`
	// Ops and Bytes count the reads and writes that completed in the interval.
	Ops   int64 `json:"ops"`
	Bytes int64 `json:"bytes"`
	// Lat is the sum of their latencies.
	Lat time.Duration `json:"lat,omitempty"`
	// WriteOps, WriteBytes and WriteLat are the writes' part of them.
	WriteOps   int64         `json:"write_ops,omitempty"`
	WriteBytes int64         `json:"write_bytes,omitempty"`
	WriteLat   time.Duration `json:"write_lat,omitempty"`
}

// ThreadUsage is the cost of some threads (getrusage, RUSAGE_THREAD). All fields are 0 if the system doesn't report it.
type ThreadUsage struct {
	User   time.Duration `json:"user"`
	System time.Duration `json:"system"`
	// Switches counts voluntary and involuntary context switches; MajorFaults and MinorFaults count page faults with
	// and without I/O.
	Switches    int64 `json:"switches"`
	MajorFaults int64 `json:"major_faults"`
	MinorFaults int64 `json:"minor_faults"`
}

// plus returns u + f*o.
func (u ThreadUsage) plus(o ThreadUsage, f int64) ThreadUsage {
	return ThreadUsage{
		User: u.User + time.Duration(f)*o.User, System: u.System + time.Duration(f)*o.System,
		Switches: u.Switches + f*o.Switches, MajorFaults: u.MajorFaults + f*o.MajorFaults, MinorFaults: u.MinorFaults + f*o.MinorFaults,
	}
}

// Usage is the cost of the job in its measured window. Unlike the figures of the classes, it includes the generator's
// own work.
type Usage struct {
	// User and System are the CPU time of the whole process.
	User   time.Duration `json:"user"`
	System time.Duration `json:"system"`
	// MaxRSS is the peak resident memory of the process in bytes. On Linux it is VmHWM, because getrusage's figure is
	// inherited from the parent at exec.
	MaxRSS int64 `json:"max_rss"`
}
