// Package load generates block I/O on a file and measures each I/O.
//
// A Job says what is to be done, in fio's words. Layout writes its file, Prepare
// opens it and sets up threads, rings and buffers, and Run.Start does the I/O:
//
//	run, err := load.Prepare(job)
//	...
//	defer run.Close()
//	res, err := run.Start(ctx, nil)
//
// Each of the job's threads is an operating system's thread of its own with its own
// ring and buffers outside of Go's heap. Its loop allocates nothing, uses
// no channel, and counts every I/O in a histogram. All threads decide by the clock, not by a
// signal, whether an I/O completed inside the measured window, so that the edges cost nothing.
// The rate is of what was complete in the window. An I/O in flight at its end is awaited, and counts in the
// latencies, as with fio: a stall would else be seen only if it ended in time.
//
// The thing easily got wrong: a run without a rate is a closed loop, whose
// latency is "at that depth". A stall of the generator or the disk is then seen by as many I/Os as
// were in flight, not by all that would have come. An open loop (RateIOPS) records the
// response time from the schedule beside it.
//
// Linux has all engines but one; Windows has that, overlapped I/O with completion ports; other systems
// have psync and null, without direct I/O.
package load

import (
	"time"

	"plimsoll/hist"
)

// A Class is what was measured of one kind of operation.
type Class struct {
	// Name is the operation: "read", "write" or "sync" for block jobs.
	Name string `json:"name"`
	// Ops and Bytes were completed inside the measured window.
	Ops   int64 `json:"ops"`
	Bytes int64 `json:"bytes"`
	// InFlight counts the operations that were in flight when the window ended. They are in Lat and in Response, or a
	// stall at the end would go unseen, but not in Ops and Bytes, of which the rate is made.
	InFlight int64 `json:"in_flight,omitempty"`
	// AtLeast is how many of those had not ended when Plimsoll stopped waiting: their latency is the time that they had taken by then.
	AtLeast int64 `json:"at_least,omitempty"`
	// Failed counts the operations of the window that failed with an error after which the job goes on (Job.ReadErrors, Job.WriteErrors).
	// They are in nothing else.
	Failed int64 `json:"failed,omitempty"`
	// Lat holds the latency of every one of the Ops and of those InFlight, in nanoseconds: the service
	// time, from when the thread took the I/O up to when it saw its completion.
	// In a closed loop that is the latency at the job's depth.
	Lat *hist.Histogram `json:"lat,omitempty"`
	// Response holds the response times of an open loop (rate_iops), from when each
	// I/O should have started by the schedule. nil in a closed loop.
	Response *hist.Histogram `json:"response,omitempty"`
	// Priorities are parts of Lat, by the priorities of the I/Os, if the job gives some of these a priority of their own
	// (Job.ReadPriorities, Job.WritePriorities): all that there may be, the job's own first.
	Priorities []PriorityLat `json:"priorities,omitempty"`
}

// A Sample is what happened in one interval of the measured window (SampleEvery).
type Sample struct {
	// At is the end of the interval, from the start of the window.
	At time.Duration `json:"at"`
	// Ops and Bytes were completed in the interval: reads and writes.
	Ops   int64 `json:"ops"`
	Bytes int64 `json:"bytes"`
	// Lat is the sum of their latencies.
	Lat time.Duration `json:"lat,omitempty"`
	// WriteOps, WriteBytes and WriteLat are the writes' part of them.
	WriteOps   int64         `json:"write_ops,omitempty"`
	WriteBytes int64         `json:"write_bytes,omitempty"`
	WriteLat   time.Duration `json:"write_lat,omitempty"`
}

// ThreadUsage is what some threads cost (getrusage, RUSAGE_THREAD). All are 0 where the
// system doesn't say.
type ThreadUsage struct {
	User   time.Duration `json:"user"`
	System time.Duration `json:"system"`
	// Switches counts voluntary and involuntary context switches, MajorFaults and MinorFaults
	// page faults with and without I/O.
	Switches    int64 `json:"switches"`
	MajorFaults int64 `json:"major_faults"`
	MinorFaults int64 `json:"minor_faults"`
}

// plus is u and f times o.
func (u ThreadUsage) plus(o ThreadUsage, f int64) ThreadUsage {
	return ThreadUsage{
		User: u.User + time.Duration(f)*o.User, System: u.System + time.Duration(f)*o.System,
		Switches: u.Switches + f*o.Switches, MajorFaults: u.MajorFaults + f*o.MajorFaults, MinorFaults: u.MinorFaults + f*o.MinorFaults,
	}
}

// Usage is what the job cost in its measured window. Unlike the per-class
// figures it includes the generator's own work.
type Usage struct {
	// User and System are CPU time of the whole process.
	User   time.Duration `json:"user"`
	System time.Duration `json:"system"`
	// MaxRSS is the peak resident memory of the process in bytes: VmHWM on
	// Linux, because getrusage's figure is inherited from the parent at exec.
	MaxRSS int64 `json:"max_rss"`
}
