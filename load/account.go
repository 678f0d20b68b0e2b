package load

import (
	"sync/atomic"
	"time"

	"plimsoll/hist"
)

// An account is what one thread measured. Only progress is read by others
// while the thread runs.
type account struct {
	progress atomic.Int64 // reads and writes counted so far
	total    int64        // the thread's own copy of progress
	lat      [opCount]hist.Histogram
	response [opCount]hist.Histogram
	started  int64 // reads and writes taken up, ramp included
	late     int64
	maxLate  int64
	unfinish int64
	doneAt   int64
	_        [64]byte
}

// sum adds up what the threads measured.
func (r *Run) sum(res *Result) {
	var all account
	first, last := int64(-1), int64(0)
	for _, t := range r.threads {
		a := &t.acct
		for op := range opCount {
			all.lat[op].Merge(&a.lat[op])
			all.response[op].Merge(&a.response[op])
		}
		all.started += a.started
		res.Late += a.late
		res.Unfinished += a.unfinish
		res.MaxLate = max(res.MaxLate, time.Duration(a.maxLate))
		if first < 0 || a.doneAt < first {
			first = a.doneAt
		}
		last = max(last, a.doneAt)
	}
	res.FirstDone = time.Duration(max(first-r.begin, 0))
	res.LastDone = time.Duration(max(last-r.begin, 0))
	res.Missed = r.missed(all.started)
	for op, name := range opNames {
		if !r.has(op) {
			continue
		}
		c := Class{Name: name, Ops: int64(all.lat[op].Count()), Lat: &all.lat[op]}
		if op != opSync {
			c.Bytes = c.Ops * r.job.BS
			if r.job.RateIOPS > 0 {
				c.Response = &all.response[op]
			}
		}
		res.Classes = append(res.Classes, c)
	}
}

// has reports whether the job has operations of the kind.
func (r *Run) has(op int) bool {
	switch op {
	case opRead:
		return r.job.reads()
	case opWrite:
		return r.job.writes()
	}
	return r.job.Fsync > 0 || r.job.FDataSync > 0 || r.job.EndFsync
}
