package workload

import (
	"slices"
	"sync"
	"time"

	"plimsoll/load"
)

// A StatusRunner is a Runner that reports its result so far while it runs. Any goroutine may ask.
type StatusRunner interface {
	// Status is the result that Run would return if everything ended now.
	Status() *Result
}

var _ StatusRunner = (*stageRun)(nil)

// stageStatus holds the results so far of a stage's jobs with load.Job.Status.
type stageStatus struct {
	mu      sync.Mutex
	begin   time.Time // zero: it has not begun
	before  snapshot
	samples [][]load.Sample
	done    []*StageResult
}

// start begins a stage, if one of its jobs has Status set.
func (s *stageStatus) start(begin time.Time, jobs []StageJob) {
	n := len(jobs)
	if !slices.ContainsFunc(jobs, func(j StageJob) bool { return j.Job.Status }) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin, s.before = begin, takeSnapshot(true)
	s.samples, s.done = make([][]load.Sample, n), make([]*StageResult, n)
}

// sampled returns the onSample of job number i. It keeps each sample and passes it on to next.
func (s *stageStatus) sampled(j StageJob, i int, next func(load.Sample)) func(load.Sample) {
	if !j.Job.Status {
		return next
	}
	return func(one load.Sample) {
		s.mu.Lock()
		s.samples[i] = append(s.samples[i], one)
		s.mu.Unlock()
		if next != nil {
			next(one)
		}
	}
}

// end keeps the result of job number i, whose run is no longer asked.
func (s *stageStatus) end(i int, r StageResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done != nil {
		s.done[i] = &r
	}
}

// Status implements StatusRunner.
func (s *stageRun) Status() *Result {
	st := &s.status
	st.mu.Lock()
	defer st.mu.Unlock()
	r := &Result{Elapsed: 1}
	if !st.begin.IsZero() {
		now := takeSnapshot(false)
		r.between(st.before, now)
		r.CPUs, r.Start, r.Elapsed = cpuDeltas(st.before.cpus, now.cpus), st.begin, max(time.Since(st.begin), 1)
		r.WallElapsed = r.Elapsed
	}
	for i, run := range s.runs {
		one := StageResult{Name: s.jobs[i].Name, Job: s.jobs[i].Job}
		switch {
		case st.done != nil && st.done[i] != nil:
			one = *st.done[i]
			one.Trace, one.Hists, one.Written = nil, nil, nil // They are long, and come with the final result.
		case run != nil && st.done != nil:
			if res := run.Status(); res != nil {
				one.Result, one.FileSizes, one.Samples = *res, run.FileSizes(), st.samples[i]
			}
		}
		one.Job.Script, one.Job.Only = nil, nil
		r.Stage = append(r.Stage, one)
	}
	r.gather(false)
	return r
}
