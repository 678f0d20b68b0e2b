package load

import (
	"fmt"
	"time"
)

// A LatencyTarget makes a job search for the greatest depth, up to IODepth, at which I/Os are fast enough. The search
// begins at depth 1 and doubles it; later it bisects between a depth that was too slow and one that was not. See
// lat_target_check in fio's io_u.c.
type LatencyTarget struct {
	// Latency is the maximum latency of Percent of the I/Os begun in each Window.
	Latency time.Duration `json:"latency"`
	Window  time.Duration `json:"window"`
	Percent float64       `json:"percent"`
	// Keep continues the search until something else ends the job. Otherwise the search ends when the depth is found,
	// and the result is that of one more window at that depth.
	Keep bool `json:"keep,omitempty"`
}

// A SlowError says that a job with a LatencyTarget of 100 percent had an I/O that took longer at depth 1.
type SlowError struct {
	Path          string
	Latency, Most time.Duration
}

// Error implements error.
func (e *SlowError) Error() string {
	return fmt.Sprintf("%s: an I/O took %v at depth 1, and latency_target is %v", e.Path, e.Latency, e.Most)
}

// target checks the latency target of a job.
func (v *validator) target(j Job) {
	t := j.Target
	switch {
	case t == nil:
	case t.Latency <= 0 || t.Window <= 0 || t.Percent <= 0 || t.Percent > 100:
		v.add("latency_target", t.Latency, "needs a latency and a window over 0, and a percentage over 0 up to 100")
	case j.NumJobs > 1 || synchronous(j.IOEngine) && j.IODepth > 1:
		v.add("latency_target", t.Latency, "one thread searches: use numjobs=1, and iodepth=1 with %s", j.IOEngine)
	case j.rated() || j.ThinkTime > 0 || j.FlowWeight > 0, len(j.Script) > 0 || j.Round > 0 || j.CoolDown > 0,
		j.PerJob || j.Trace > 0 || j.HistEvery > 0, j.Verify:
		v.add("latency_target", t.Latency, "takes no rate, pauses, flow, script, rounds, cooldown, logs of each I/O or verify")
	}
}

// A depthSearch is the state of a thread's search for its job's LatencyTarget.
type depthSearch struct {
	LatencyTarget
	most             int // the job's depth
	depth, low, high int
	stable           int
	since            int64 // when the current window began
	ops, slow        int64 // in that window
	slowest          int64
	// draining: I/Os of a greater depth are in flight, and none is begun. final: the depth is found, and the result
	// begins with the next window.
	draining, final, found bool
}

func newDepthSearch(j Job) *depthSearch {
	if j.Target == nil {
		return nil
	}
	return &depthSearch{LatencyTarget: *j.Target, most: j.IODepth, depth: 1, low: 1, high: j.IODepth}
}

// took counts an I/O.
func (s *depthSearch) took(lat int64) {
	s.ops++
	if lat > int64(s.Latency) {
		s.slow++
		s.slowest = max(s.slowest, lat)
	}
}

// begin begins a window.
func (s *depthSearch) begin(now int64) { s.since, s.ops, s.slow = now, 0, 0 }

// search judges the current window, if it is over, with inFlight I/Os in flight. Only threads with a depthSearch call
// it.
func (t *thread) search(now int64, inFlight int) error {
	s, r := t.seek, t.run
	switch {
	case now < r.begin.Load():
		return nil
	case s.since == 0:
		s.begin(r.begin.Load())
	case s.draining && inFlight > 0:
		return nil
	case s.draining:
		s.draining = false
		if s.final {
			t.anew(now)
		}
		s.begin(now)
	}
	all := s.Percent == 100 && s.slow > 0
	switch {
	case !all && (now-s.since < int64(s.Window) || s.ops == 0):
	case !all && 100*float64(s.ops-s.slow)/float64(s.ops) >= s.Percent:
		s.faster(now)
		t.out = t.out || s.found
	case s.depth > 1:
		s.slower()
	case all:
		return &SlowError{r.job.path(0), time.Duration(s.slowest), s.Latency}
	}
	return nil
}

// full reports whether no more I/Os may begin with that many in flight.
func (s *depthSearch) full(inFlight int) bool { return s.draining || inFlight >= s.depth }

// slower lowers the depth; it takes effect once nothing is in flight.
func (s *depthSearch) slower() {
	s.high = s.depth
	if s.depth == s.low {
		s.low--
	}
	s.depth, s.stable, s.draining = (s.depth+s.low)/2, 0, true
}

// faster raises the depth. If it can't be raised, the depth is found.
func (s *depthSearch) faster(now int64) {
	was := s.depth
	s.low = s.depth
	if s.depth+1 == s.high {
		if s.stable++; s.stable >= 3 {
			s.high, s.stable = s.high+1, 0
		}
	}
	if s.high != s.most {
		s.depth = (s.depth + s.high) / 2
	} else {
		s.depth *= 2
	}
	s.depth = min(s.depth, s.most)
	if s.depth == was && !s.Keep {
		s.found = s.final
		s.draining, s.final = !s.final, true
	}
	s.begin(now)
}

// anew begins the window again: what was counted so far is not part of the result. Nothing is in flight.
func (t *thread) anew(now int64) {
	r := t.run
	r.renewing.Lock()
	t.acct.empty()
	t.acct.show()
	t.lane.budget.Store(t.lane.limit(r.job))
	t.lane.bytes.Store(t.lane.limitBytes(r.job))
	t.before = threadUsage()
	r.begin.Store(now)
	r.renewing.Unlock()
	if r.OnRenew != nil {
		r.OnRenew()
	}
}

// counted returns what the threads have counted so far. It omits samples from before the window began again.
func (w *watch) counted() [2]count {
	w.run.renewing.Lock()
	defer w.run.renewing.Unlock()
	w.renew()
	return progressOf(w.run.threads)
}

// renew makes the samples begin with the window, wherever that begins now.
func (w *watch) renew() {
	begin := w.run.begin.Load()
	if begin == w.began {
		return
	}
	w.wall = w.wall.Add(time.Duration(begin - w.began))
	w.res.Start, w.res.Samples = w.wall, nil
	w.began, w.seen = begin, [2]count{}
}
