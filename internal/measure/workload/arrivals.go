package workload

import (
	"time"

	"plimsoll/load"
)

// Arrivals are the offered and the achieved rates of an open loop's clients together.
type Arrivals struct {
	// Offered and Achieved are I/Os a second: the schedule's mean, and those done from the first client's start to the last
	// one's end.
	Offered  float64 `json:"offered"`
	Achieved float64 `json:"achieved"`
	// Due is how many I/Os were due: begun (those in flight at the window's end included) or missed. Late of them were
	// started more than load.LateAfter after their time, MaxLate at worst. Missed came due and were never started.
	Due     int64         `json:"due"`
	Late    int64         `json:"late"`
	MaxLate time.Duration `json:"max_late"`
	Missed  int64         `json:"missed"`
}

// ArrivalsOf adds up the results of a trial's clients, or of the jobs of a stage, each of which has a rate of its own or
// none. ok is false for a closed loop, where none has a rate.
func ArrivalsOf(job load.Job, results []Result) (a Arrivals, ok bool) {
	open := job.OpenLoop()
	if open {
		a.Offered = job.Offered() * float64(len(results))
		a.Achieved = Together(results, Metric{Unit: "1/s"})
	}
	for i := range results {
		r := &results[i]
		if open {
			a.add(r.Ops()+r.InFlight(), r.Late, r.Missed, r.MaxLate)
		}
		for k := range r.Stage {
			if s := &r.Stage[k]; s.Job.OpenLoop() {
				open = true
				a.Offered += s.Job.Offered()
				a.Achieved += s.IOPS()
				a.add(s.Ops()+s.InFlight(), s.Late, s.Missed, s.MaxLate)
			}
		}
	}
	return a, open
}

// add adds the counts of one job of one client.
func (a *Arrivals) add(begun, late, missed int64, worst time.Duration) {
	a.Due += begun + missed
	a.Late += late
	a.Missed += missed
	a.MaxLate = max(a.MaxLate, worst)
}

// StageArrivals adds up the jobs of stages that have a rate. ok is false if none has.
func StageArrivals(results []Result) (a Arrivals, ok bool) {
	for i := range results {
		for k := range results[i].Stage {
			s := &results[i].Stage[k]
			if !s.Job.OpenLoop() {
				continue
			}
			ok = true
			a.Offered += s.Job.Offered()
			a.Achieved += s.IOPS()
			a.Due += s.Ops() + s.InFlight() + s.Missed
			a.Late += s.Late
			a.Missed += s.Missed
			a.MaxLate = max(a.MaxLate, s.MaxLate)
		}
	}
	return a, ok
}
