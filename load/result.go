package load

import (
	"time"

	"plimsoll/hist"
)

// A Result is what a run measured in its window, and the latencies of what was in flight when that ended.
type Result struct {
	// Engine did the I/O, and Clock timed it: "tsc" or "monotonic".
	Engine string `json:"engine"`
	Clock  string `json:"clock"`
	// Start is the beginning of the window by the wall clock.
	Start time.Time `json:"start"`
	// Elapsed is the length of the window. One in which nothing was complete, though I/Os were in flight, lasts
	// until the first of them ended: so long took one I/O. WallElapsed is the same by the wall
	// clock, which may have been set meanwhile.
	Elapsed     time.Duration `json:"elapsed"`
	WallElapsed time.Duration `json:"wall_elapsed"`
	// FirstDone and LastDone are when the first and the last thread had done its
	// part, from the beginning of the window.
	FirstDone time.Duration `json:"first_done"`
	LastDone  time.Duration `json:"last_done"`
	// Classes holds read, write and sync, those that the job has, in that order.
	Classes []Class `json:"classes"`
	// Samples holds one entry each SampleEvery and one for the rest. Their sums are those
	// of reads and writes in Classes.
	Samples []Sample `json:"samples,omitempty"`
	// Trace holds the first I/Os of the window, up to as many as Job.Trace asks for; those that were in flight at its end are among them.
	Trace Trace `json:"trace,omitempty"`
	// Written is what was written of each file and not read back, in whole units of VerifyUnit, if Job.KeepWritten asks for it.
	Written []Ranges `json:"written,omitempty"`
	// Hists holds the latencies of the window's intervals, if Job.HistEvery asks for them, in the order in which they ended.
	Hists []HistSample `json:"hists,omitempty"`
	// Jobs holds what each of the NumJobs measured, if the job asked for it (PerJob).
	Jobs  []JobResult `json:"jobs,omitempty"`
	Usage Usage       `json:"usage"`
	// Threads is what the job's own threads cost, from their start (the ramp included) to their end.
	Threads ThreadUsage `json:"threads"`
	// Depth is what a job with a Target came to. 0: it has none.
	Depth int `json:"depth,omitempty"`
	// AtPeer is how much of the window went by at the job's Peer.
	AtPeer time.Duration `json:"at_peer,omitempty"`
	// Crossings are, for a job with rounds, the I/Os that were in flight when the last of them ended, and ended after it.
	Crossings []Crossing `json:"-"`
	// Drained is how long after the window the last of its I/Os in flight ended.
	Drained time.Duration `json:"drained,omitempty"`
	// FirstError is the system's number of the first error that was gone on after, 0 if there was none.
	FirstError int `json:"first_error,omitempty"`
	// Late counts the I/Os of an open loop that were started more than LateAfter
	// after their time, and MaxLate is the worst case. Missed counts those whose
	// time came but which were never started.
	Late    int64         `json:"late,omitempty"`
	MaxLate time.Duration `json:"max_late,omitempty"`
	Missed  int64         `json:"missed,omitempty"`
	// Buffers says of io_uring whether the kernel took all threads' buffers in advance:
	// BuffersRegistered or BuffersPlain; empty for other engines. Plain ones cost a look-up and a pin
	// each I/O, so that figures of the two kinds are not alike.
	Buffers string `json:"buffers,omitempty"`
	// Notes are doubts about the engine: that linux-aio is not asynchronous with
	// buffered I/O, that buffers could not be registered.
	Notes []string `json:"notes,omitempty"`
}

// Values of Result.Buffers.
const (
	BuffersRegistered = "registered"
	BuffersPlain      = "plain"
)

// LateAfter is how long after its time an I/O of an open loop may be started
// without counting as late.
const LateAfter = time.Millisecond

// Class returns the class called name, or nil.
func (r *Result) Class(name string) *Class {
	for i := range r.Classes {
		if r.Classes[i].Name == name {
			return &r.Classes[i]
		}
	}
	return nil
}

// Ops returns the number of reads and writes.
func (r *Result) Ops() int64 {
	var n int64
	for _, c := range r.Classes {
		if c.Name != opNames[opSync] {
			n += c.Ops
		}
	}
	return n
}

// InFlight returns the number of reads and writes that were in flight when the window ended.
func (r *Result) InFlight() int64 {
	var n int64
	for _, c := range r.Classes {
		if c.Name != opNames[opSync] {
			n += c.InFlight
		}
	}
	return n
}

// IOPS returns the reads and writes per second, 0 for an empty window.
func (r *Result) IOPS() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Ops()) / r.Elapsed.Seconds()
}

// A JobResult is what one of a job's NumJobs measured.
type JobResult struct {
	// Classes are as in Result.
	Classes []Class `json:"classes"`
	// Files are what was done in each of the job's Files, in their order, if PerFile asked for it. Their classes have no syncs,
	// which are of all files, and no response times.
	Files []FileResult `json:"files,omitempty"`
	// Samples are as in Result, if the job has a SampleEvery.
	Samples []Sample `json:"samples,omitempty"`
	// Done is when it had done its part, from the beginning of the window.
	Done time.Duration `json:"done"`
	// Threads is what its threads cost from their start to their end.
	Threads ThreadUsage `json:"threads"`
}

// A FileResult is what one of a job's NumJobs did in one of its files.
type FileResult struct {
	Classes []Class `json:"classes"`
}

// Merge adds what o counted to c.
func (c *Class) Merge(o Class) {
	c.Ops += o.Ops
	c.Bytes += o.Bytes
	c.InFlight += o.InFlight
	c.Failed += o.Failed
	c.AtLeast += o.AtLeast
	c.Lat = merged(c.Lat, o.Lat)
	c.Response = merged(c.Response, o.Response)
	c.Priorities = MergePriorities(c.Priorities, o.Priorities)
}

// clone is c with histograms of its own.
func (c Class) clone() Class {
	c.Lat, c.Response, c.Priorities = merged(nil, c.Lat), merged(nil, c.Response), MergePriorities(nil, c.Priorities)
	return c
}

// merged is the sum of two histograms, of which either may be nil. It changes neither.
func merged(a, b *hist.Histogram) *hist.Histogram {
	if b == nil {
		return a
	}
	sum := new(hist.Histogram)
	sum.Merge(a)
	sum.Merge(b)
	return sum
}
