package workload

import (
	"fmt"
	"time"

	"plimsoll/load"
)

// A LeastRate is the rate below which a job is ended: fio's rate_min and rate_iops_min.
type LeastRate struct {
	// Read and Write are I/Os a second, or bytes if Bytes is set. 0: no bound.
	Read  int64 `json:"read,omitempty"`
	Write int64 `json:"write,omitempty"`
	Bytes bool  `json:"bytes,omitempty"`
	// Cycle is the time over which they are judged. It is cut by the job's samples, and so no less than
	// load.Job.SampleEvery. If one more I/O would reach the rate, the next samples are included, so that a rate of less
	// than an I/O a cycle can be kept.
	Cycle time.Duration `json:"cycle"`
}

// settling is a time at the beginning without judging: fio's check_min_rate has the same.
const settling = 2 * time.Second

// A RateError says that a job was slower than its LeastRate.
type RateError struct {
	// What is "reads" or "writes". Got and Least are per second, in bytes if Bytes is set, over the time For.
	What       string
	Got, Least int64
	Bytes      bool
	For        time.Duration
}

// Error implements error.
func (e *RateError) Error() string {
	unit := "a second"
	if e.Bytes {
		unit = "bytes a second"
	}
	return fmt.Sprintf("%s of %d %s in %v are less than the least rate, %d", e.What, e.Got, unit, e.For.Round(time.Millisecond), e.Least)
}

// leastWatch judges the samples of one job.
type leastWatch struct {
	least LeastRate
	// dirs are the reads and the writes.
	dirs [2]leastDir
}

// leastDir counts the reads or the writes since a cycle began, in I/Os or bytes.
type leastDir struct {
	since time.Duration
	done  int64
	// unit is the value of one I/O.
	unit int64
}

func newLeastWatch(l LeastRate, job load.Job) leastWatch {
	w := leastWatch{least: l}
	for i := range w.dirs {
		w.dirs[i].unit = 1
		if l.Bytes {
			_, _, w.dirs[i].unit = job.BlockSizes()
		}
	}
	return w
}

// add adds a sample, and returns the error of a cycle that ended with it.
func (w *leastWatch) add(s load.Sample) error {
	done, least := [2]int64{s.Ops - s.WriteOps, s.WriteOps}, [2]int64{w.least.Read, w.least.Write}
	if w.least.Bytes {
		done = [2]int64{s.Bytes - s.WriteBytes, s.WriteBytes}
	}
	for i := range w.dirs {
		d := &w.dirs[i]
		if s.At <= settling {
			d.since = s.At
			continue
		}
		d.done += done[i]
		span := s.At - d.since
		if span < w.least.Cycle {
			continue
		}
		a := func(n int64) int64 { return int64(float64(n) / span.Seconds()) }
		switch {
		case a(d.done) >= least[i]:
			d.since, d.done = s.At, 0
		case a(d.done+d.unit) < least[i]:
			return &RateError{What: [2]string{"reads", "writes"}[i], Got: a(d.done), Least: least[i], Bytes: w.least.Bytes, For: span}
		}
	}
	return nil
}
