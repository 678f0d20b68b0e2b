package load

import (
	"time"

	"plimsoll/hist"
)

// A Result holds what a run measured in its window, and the latencies of the I/Os in flight when the window ended.
type Result struct {
	// Engine is the engine that did the I/O, Clock the clock that timed it: "tsc" or "monotonic".
	Engine string `json:"engine"`
	Clock  string `json:"clock"`
	// Start is the beginning of the window by the wall clock.
	Start time.Time `json:"start"`
	// Elapsed is the length of the window. If nothing completed in the window though I/Os were in flight, it lasts
	// until the first of them ended: that is how long one I/O took. WallElapsed is the same by the wall clock, which
	// may have been set in the meantime.
	Elapsed     time.Duration `json:"elapsed"`
	WallElapsed time.Duration `json:"wall_elapsed"`
	// FirstDone and LastDone are when the first and the last thread had finished its part, from the beginning of the
	// window.
	FirstDone time.Duration `json:"first_done"`
	LastDone  time.Duration `json:"last_done"`
	// Classes holds read, write and sync, in that order, as far as the job has them.
	Classes []Class `json:"classes"`
	// Samples holds one entry for each SampleEvery and one for the rest. They add up to the reads and writes in
	// Classes.
	Samples []Sample `json:"samples,omitempty"`
	// Trace holds the first I/Os of the window, up to Job.Trace. I/Os in flight at the end of the window are included.
	Trace Trace `json:"trace,omitempty"`
	// Written says what was written in each file and not read back, in whole units of VerifyUnit, if Job.KeepWritten
	// asks for it.
	Written []Ranges `json:"written,omitempty"`
	// Hists holds the latencies in the window's intervals, in the order in which these ended, if Job.HistEvery asks for
	// them.
	Hists []HistSample `json:"hists,omitempty"`
	// Jobs holds what each of the NumJobs measured, if PerJob asks for it.
	Jobs  []JobResult `json:"jobs,omitempty"`
	Usage Usage       `json:"usage"`
	// Threads is the cost of the job's own threads, from their start (ramp included) to their end.
	Threads ThreadUsage `json:"threads"`
	// Depth is the depth that a job with a Target found. 0: it has no Target.
	Depth int `json:"depth,omitempty"`
	// AtPeer is how much of the window was spent at the job's Peer.
	AtPeer time.Duration `json:"at_peer,omitempty"`
	// Crossings are, for a job with rounds, the I/Os that were in flight when the last round ended and that ended after
	// it.
	Crossings []Crossing `json:"-"`
	// Drained is how long after the window its last I/O in flight ended.
	Drained time.Duration `json:"drained,omitempty"`
	// FirstError is the system's number of the first error after which the job went on; 0 if there was none.
	FirstError int `json:"first_error,omitempty"`
	// Late counts the I/Os of an open loop that started more than LateAfter after they were due, and MaxLate is the
	// greatest delay. Missed counts those that came due but never started.
	Late    int64         `json:"late,omitempty"`
	MaxLate time.Duration `json:"max_late,omitempty"`
	Missed  int64         `json:"missed,omitempty"`
	// Buffers says, for io_uring, whether the kernel registered the buffers of all threads: BuffersRegistered or
	// BuffersPlain; empty for other engines. Plain buffers cost a look-up and a pin per I/O, so figures of the two
	// kinds are not comparable.
	Buffers string `json:"buffers,omitempty"`
	// Notes are doubts about the engine: for example that linux-aio is not asynchronous with buffered I/O, or that
	// buffers could not be registered.
	Notes []string `json:"notes,omitempty"`
}

// Values of Result.Buffers.
const (
	BuffersRegistered = "registered"
	BuffersPlain      = "plain"
)

// LateAfter is how much later than due an I/O of an open loop may start without counting as late.
const LateAfter = time.Millisecond

// Class returns the class with that name, or nil.
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

// A JobResult holds what one of a job's NumJobs measured.
type JobResult struct {
	// Classes are as in Result.
	Classes []Class `json:"classes"`
	// Files are what was done in each of the job's Files, in order, if PerFile asks for it. Their classes have no
	// syncs, because a sync covers all files, and no response times.
	Files []FileResult `json:"files,omitempty"`
	// Samples are as in Result, if the job has a SampleEvery.
	Samples []Sample `json:"samples,omitempty"`
	// Done is when it had finished its part, from the beginning of the window.
	Done time.Duration `json:"done"`
	// Threads is the cost of its threads from their start to their end.
	Threads ThreadUsage `json:"threads"`
}

// A FileResult holds what one of a job's NumJobs did in one of its files.
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

// clone returns a copy of c with its own histograms.
func (c Class) clone() Class {
	c.Lat, c.Response, c.Priorities = merged(nil, c.Lat), merged(nil, c.Response), MergePriorities(nil, c.Priorities)
	return c
}

// merged returns the sum of two histograms, either of which may be nil. It changes neither.
func merged(a, b *hist.Histogram) *hist.Histogram {
	if b == nil {
		return a
	}
	sum := new(hist.Histogram)
	sum.Merge(a)
	sum.Merge(b)
	return sum
}
