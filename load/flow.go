package load

import (
	"sync/atomic"
	"time"
)

// A Flow holds jobs that run together to shares of the I/Os that all of them do, by their weights, as fio's flow does. The zero value is one
// without jobs.
type Flow struct{ begun, weights atomic.Int64 }

// flowWait is how long a thread waits that is ahead of its share and has no FlowSleep: it spins, as in fio, since a sleep takes longer than an
// I/O of a fast device.
const flowWait = time.Microsecond

// Join takes the run, of a job with a FlowWeight, into a flow. All that are in one join it before the first of them starts, or that would
// have it to itself; and all are to start, since they wait for each other.
func (r *Run) Join(f *Flow) {
	r.flow = f
	f.weights.Add(int64(r.job.FlowWeight))
	r.flowing.Store(int64(len(r.threads)))
}

// leave takes the run out when its last thread has nothing left to do, so that the others don't wait for it.
func (r *Run) leave() {
	if r.flow != nil && r.flowing.Add(-1) == 0 {
		r.flow.begun.Add(-r.begun.Load())
		r.flow.weights.Add(-int64(r.job.FlowWeight))
	}
}

// ahead is how long the run has to wait since it is ahead of its share, 0 if it isn't.
func (r *Run) ahead() time.Duration {
	if r.flow == nil {
		return 0
	}
	// In the comparison one I/O more than all is begun, as in fio: the first of all is.
	if r.begun.Load()*r.flow.weights.Load() <= int64(r.job.FlowWeight)*(r.flow.begun.Load()+1) {
		return 0
	}
	return max(r.job.FlowSleep, flowWait)
}

// flows counts an I/O that the run begins.
func (r *Run) flows() {
	if r.flow != nil {
		r.begun.Add(1)
		r.flow.begun.Add(1)
	}
}
