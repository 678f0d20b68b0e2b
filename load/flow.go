package load

import (
	"sync/atomic"
	"time"
)

// A Flow keeps jobs that run together at fixed shares of all their I/Os, by their weights, as fio's flow does. The zero
// value has no jobs.
type Flow struct{ begun, weights atomic.Int64 }

// flowWait is how long a thread waits that is ahead of its share and has no FlowSleep. It spins, as in fio, because a
// sleep takes longer than an I/O of a fast device.
const flowWait = time.Microsecond

// Join adds the run, of a job with a FlowWeight, to a flow. All runs of a flow must join before the first of them
// starts; otherwise that one would have the flow to itself. All of them must start, because they wait for each other.
func (r *Run) Join(f *Flow) {
	r.flow = f
	f.weights.Add(int64(r.job.FlowWeight))
	r.flowing.Store(int64(len(r.threads)))
}

// leave removes the run when its last thread has finished, so that the others don't wait for it.
func (r *Run) leave() {
	if r.flow != nil && r.flowing.Add(-1) == 0 {
		r.flow.begun.Add(-r.begun.Load())
		r.flow.weights.Add(-int64(r.job.FlowWeight))
	}
}

// ahead returns how long the run must wait because it is ahead of its share, or 0.
func (r *Run) ahead() time.Duration {
	if r.flow == nil {
		return 0
	}
	// As in fio, the comparison counts one I/O more than have begun in total, so that the first one may start.
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
