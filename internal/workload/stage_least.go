package workload

import (
	"fmt"
	"time"

	"plimsoll/load"
)

// A LeastRate is what a job has to keep up, or it is ended: fio's rate_min and rate_iops_min.
type LeastRate struct {
	// Read and Write are I/Os a second, or bytes if Bytes is set. 0: as slow as it likes.
	Read  int64 `json:"read,omitempty"`
	Write int64 `json:"write,omitempty"`
	Bytes bool  `json:"bytes,omitempty"`
	// Cycle is over which time they are judged. The samples of the job cut it: no less than load.Job.SampleEvery.
	Cycle time.Duration `json:"cycle"`
}

// settling is a time at the beginning in which nothing is judged: that of fio's check_min_rate.
const settling = 2 * time.Second

// A RateError says that a job was slower than its LeastRate.
type RateError struct {
	// What is "reads" or "writes", Got and Least are a second, over the time For.
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
	// since is when the cycle began, and read and write what was done in it.
	since       time.Duration
	read, write int64
}

// add takes a sample in, and returns the error of a cycle that it ended.
func (w *leastWatch) add(s load.Sample) error {
	if s.At <= settling {
		w.since = s.At
		return nil
	}
	r, wr := s.Ops-s.WriteOps, s.WriteOps
	if w.least.Bytes {
		r, wr = s.Bytes-s.WriteBytes, s.WriteBytes
	}
	w.read, w.write = w.read+r, w.write+wr
	d := s.At - w.since
	if d < w.least.Cycle {
		return nil
	}
	got := [2]int64{int64(float64(w.read) / d.Seconds()), int64(float64(w.write) / d.Seconds())}
	w.since, w.read, w.write = s.At, 0, 0
	for i, least := range [2]int64{w.least.Read, w.least.Write} {
		if got[i] < least {
			return &RateError{What: [2]string{"reads", "writes"}[i], Got: got[i], Least: least, Bytes: w.least.Bytes, For: d}
		}
	}
	return nil
}
