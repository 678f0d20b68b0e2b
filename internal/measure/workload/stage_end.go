package workload

import (
	"context"
	"errors"
	"sync"
	"time"

	"plimsoll/internal/measure/steady"
	"plimsoll/load"
)

// A SteadyEnd ends jobs of a stage when their samples are steady: fio's steadystate.
type SteadyEnd struct {
	steady.Criterion
	// Window is the number of samples that are judged together, Ramp the number of samples before the first that is judged.
	Window int `json:"window"`
	Ramp   int `json:"ramp,omitempty"`
	// Group, above 0, joins the jobs of the stage with the same Group: their samples are summed up, and they end together.
	Group int `json:"group,omitempty"`
}

// A SteadyResult is the result of a SteadyEnd.
type SteadyResult struct {
	Attained bool `json:"attained"`
	// Figure is the criterion's value for the last window; IOPS, BW (bytes a second) and Lat (mean latency in nanoseconds)
	// are that window's samples.
	Figure float64   `json:"figure"`
	IOPS   []float64 `json:"iops"`
	BW     []float64 `json:"bw"`
	Lat    []float64 `json:"lat"`
}

// errEnough ends a job that its stage ends, which is no failure.
var errEnough = errors.New("ended by its stage")

// ends stops jobs of a stage early: when their group is steady, or a job misses its least rate.
type ends struct {
	jobs []StageJob
	ctx  []context.Context
	stop []context.CancelCauseFunc

	least []leastWatch // by job

	mu     sync.Mutex
	groups []*steadyGroup // by job, nil without SteadyEnd
}

// steadyGroup holds the samples of jobs that are judged together.
type steadyGroup struct {
	end     SteadyEnd
	members []int
	samples map[int][]load.Sample
	last    map[int]time.Duration
	judged  int
	result  SteadyResult
}

func newEnds(ctx context.Context, jobs []StageJob) *ends {
	e := &ends{jobs: jobs, groups: make([]*steadyGroup, len(jobs)), least: make([]leastWatch, len(jobs))}
	byGroup := map[int]*steadyGroup{}
	for i, j := range jobs {
		c, stop := context.WithCancelCause(ctx)
		e.ctx, e.stop = append(e.ctx, c), append(e.stop, stop)
		if j.Steady == nil {
			continue
		}
		g := byGroup[j.Steady.Group]
		if g == nil || j.Steady.Group == 0 {
			g = &steadyGroup{end: *j.Steady, samples: map[int][]load.Sample{}, last: map[int]time.Duration{}}
			byGroup[j.Steady.Group] = g
		}
		g.members = append(g.members, i)
		e.groups[i] = g
	}
	return e
}

// watch returns the onSample of job i: it calls report and judges the samples.
func (e *ends) watch(i int, report func(load.Sample)) func(load.Sample) {
	if l := e.jobs[i].Least; l != nil {
		e.least[i] = newLeastWatch(*l, e.jobs[i].Job)
		next := report
		report = func(s load.Sample) {
			if next != nil {
				next(s)
			}
			if err := e.least[i].add(s); err != nil {
				e.stop[i](err)
			}
		}
	}
	if e.groups[i] == nil {
		return report
	}
	return func(s load.Sample) {
		if report != nil {
			report(s)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		g := e.groups[i]
		g.samples[i] = append(g.samples[i], s)
		g.judge()
		if g.result.Attained {
			for _, m := range g.members {
				e.stop[m](errEnough)
			}
		}
	}
}

// judge judges the windows that became complete.
func (g *steadyGroup) judge() {
	for !g.result.Attained {
		k := g.judged
		for _, m := range g.members {
			if len(g.samples[m]) <= k {
				return
			}
		}
		g.judged++
		if k < g.end.Ramp {
			for _, m := range g.members {
				g.last[m] = g.samples[m][k].At
			}
			continue
		}
		g.add(k)
	}
}

// add adds sample k of all members to the end of the window, and judges it when it's full.
func (g *steadyGroup) add(k int) {
	var iops, bw, lat, ops float64
	for _, m := range g.members {
		s := g.samples[m][k]
		d := (s.At - g.last[m]).Seconds()
		g.last[m] = s.At
		if d <= 0 {
			continue
		}
		iops, bw = iops+float64(s.Ops)/d, bw+float64(s.Bytes)/d
		lat, ops = lat+float64(s.Lat), ops+float64(s.Ops)
	}
	if ops > 0 {
		lat /= ops
	}
	r := &g.result
	r.IOPS, r.BW, r.Lat = append(r.IOPS, iops), append(r.BW, bw), append(r.Lat, lat)
	if n := len(r.IOPS) - g.end.Window; n > 0 {
		r.IOPS, r.BW, r.Lat = r.IOPS[n:], r.BW[n:], r.Lat[n:]
	}
	if len(r.IOPS) == g.end.Window {
		r.Figure, r.Attained = g.end.Judge(map[string][]float64{"iops": r.IOPS, "bw": r.BW, "lat": r.Lat}[g.end.Metric])
	}
}

// done is called when job i has ended, with its error.
func (e *ends) done(i int, err error) error {
	if err != nil && errors.Is(context.Cause(e.ctx[i]), errEnough) && onlyEnough(err) {
		err = nil
	}
	if e.jobs[i].EndAll {
		for k, stop := range e.stop {
			if j := e.jobs[i]; j.Group == 0 || j.EndStage || e.jobs[k].Group == j.Group {
				stop(errEnough)
			}
		}
	}
	e.stop[i](nil)
	return err
}

// onlyEnough reports whether err is nothing but errEnough: an I/O may have failed too.
func onlyEnough(err error) bool {
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range j.Unwrap() {
			if !onlyEnough(e) {
				return false
			}
		}
		return true
	}
	return errors.Is(err, errEnough)
}

// result is the result of the SteadyEnd of job i.
func (e *ends) result(i int) *SteadyResult {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.groups[i] == nil {
		return nil
	}
	r := e.groups[i].result
	return &r
}
