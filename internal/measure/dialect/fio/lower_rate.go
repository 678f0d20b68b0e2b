package fio

import (
	"time"

	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// rate sets the job's rates. In a mixed job, reads and writes have separate schedules, or only one of them has one.
func (c *clone) rate(l *load.Job) {
	j := c.job
	r, w := j.iops.read, j.iops.write
	bytes := r == 0 && w == 0
	if bytes {
		r, w = j.rate.read, j.rate.write
	}
	reads, writes := l.Reads() || c.job.trims(), l.Writes() && !c.job.trims()
	if l.RWMixRead != nil {
		reads, writes = *l.RWMixRead > 0, *l.RWMixRead < 100
	}
	if !reads {
		r, w = w, 0
	}
	if !writes {
		w = 0
	}
	if l.RW != j.rw { // verify_only: the rate of writes doesn't apply to the reads
		r, w = 0, 0
	}
	if reads && writes && r > 0 && w == 0 {
		l.RateOnly = "read"
	} else if w > 0 && r == 0 {
		l.RateOnly, r, w = "write", w, 0
	}
	switch {
	case r == 0:
		l.RateProcess = ""
		return
	case bytes:
		l.Rate, l.WriteRate = r, w
	default:
		l.RateIOPS, l.WriteRateIOPS = r, w
	}
	if w > 0 {
		l.RWMixRead = nil // The rates make the mix.
	}
	l.RateIgnoreThinkTime = j.ignoreThink && j.think > 0
}

// leastRate is the minimum of rate_min or rate_iops_min, nil without one.
func (c *clone) leastRate() *workload.LeastRate {
	j := c.job
	min, bytes := j.iopsMin, false
	if j.rateMin.most() > 0 {
		min, bytes = j.rateMin, true
	}
	l := workload.LeastRate{Read: min.read, Write: min.write, Bytes: bytes, Cycle: time.Duration(j.rateCycle) * time.Millisecond}
	if !c.load.Reads() && !c.job.trims() {
		l.Read = 0
	}
	if !c.load.Writes() || c.job.trims() {
		l.Write = 0
	}
	if l.Read+l.Write == 0 || c.load.RW != j.rw {
		return nil
	}
	return &l
}
