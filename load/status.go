package load

import (
	"sync"
	"time"
)

// A glance lets other goroutines read a thread's counters. The thread holds mu except while it waits for I/O or sleeps. So a
// reader never waits for a slow disk, and the cost is some ns per I/O, for jobs with Status only.
type glance struct {
	mu      sync.Mutex
	waiting bool // the thread waits, and doesn't hold mu
	task    int  // the kernel's number of the thread
	// before is the usage of the thread when it began, as reported by taskUsage.
	before ThreadUsage
}

// newGlance returns a glance that the calling thread holds, or nil for a job without Status.
func newGlance(j Job) *glance {
	if !j.Status {
		return nil
	}
	g := &glance{task: ownTask()}
	g.mu.Lock()
	return g
}

// begin records the thread's usage before it begins. The thread must not hold mu.
func (g *glance) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.before = taskUsage(g.task)
}

// wait releases mu when the thread begins to wait, and locks it again when the wait has ended.
func (g *glance) wait(begin bool) {
	switch {
	case begin == g.waiting:
	case begin:
		g.waiting = true
		g.mu.Unlock()
	default:
		g.mu.Lock()
		g.waiting = false
	}
}

// Status returns the result so far: the same as Start's, but without samples, traces, what was written, and I/Os in
// flight. Any goroutine may call it for a job with Status, until Start has returned. It is nil before the window
// begins.
func (r *Run) Status() *Result {
	var all account
	res := &Result{Engine: r.engine, Clock: r.clk.source(), Buffers: r.buffers, Notes: r.notes}
	last, ended := int64(0), true
	for _, t := range r.threads {
		g := t.glance
		if g == nil {
			return nil
		}
		g.mu.Lock()
		all.merge(&t.acct)
		used := t.acct.usage
		if !t.ended {
			used = taskUsage(g.task).plus(g.before, -1)
		}
		all.usage = all.usage.plus(used, 1)
		last, ended = max(last, t.acct.doneAt), ended && t.ended
		if t.seek != nil {
			res.Depth = t.seek.depth
		}
		g.mu.Unlock()
	}
	now, begin := r.clk.now(), r.begin.Load()
	if ended {
		now = last
	}
	if now = min(now, r.end.Load()); now <= begin {
		return nil
	}
	res.Elapsed = time.Duration(now - begin)
	res.WallElapsed = res.Elapsed
	res.Start = r.wall().Round(0).UTC().Add(-time.Duration(r.clk.now() - begin))
	res.Late, res.MaxLate = all.late, time.Duration(all.maxLate)
	res.AtPeer, res.FirstError = time.Duration(all.atPeer), int(all.failure.errno)
	res.Classes, res.Threads = r.classes(&all), all.usage
	return res
}
