package row

import (
	"math"
	"time"

	"gonum.org/v1/gonum/stat"

	"plimsoll/internal/limit/judge"
	"plimsoll/load"
)

// A course is a running total: how much was done by which time.
type course []step

type step struct {
	at    time.Duration
	total float64
}

// appCourse returns the course of the application. A row's job either reads or writes.
func (r Row) appCourse(samples []load.Sample) course {
	c := course{{}}
	total := 0.0
	for _, s := range samples {
		if r.Key.IOPS() {
			total += float64(s.Ops)
		} else {
			total += float64(s.Bytes)
		}
		c = append(c, step{s.At, total})
	}
	return c
}

// ioOf selects the I/O that a course counts. It returns the count up to a sample, or false if that is unknown.
type ioOf func(sample) (count, bool)

// byDevice counts everything that reached the device.
func byDevice(s sample) (count, bool) { return s.count, true }

// byGroup counts what was charged to the limited group: the worker's I/O, and that of the target itself.
func byGroup(s sample) (count, bool) {
	if s.charged == nil {
		return count{}, false
	}
	return s.charged.group, true
}

// byGroupAndRoot adds the root group's charges, which may all be the worker's: version 1 charges the root group for
// what the kernel writes back.
func byGroupAndRoot(s sample) (count, bool) {
	n, known := byGroup(s)
	if known && s.charged.root != nil {
		n = n.plus(*s.charged.root, 1)
	}
	return n, known
}

// byOtherGroups counts the target's other groups, which version 1 charges separately. In version 2 the limited group
// includes them.
func byOtherGroups(s sample) (count, bool) {
	if s.charged == nil {
		return count{}, false
	}
	return s.charged.otherGroups, true
}

// byOthers counts the groups of others, which are known with version 1.
func byOthers(s sample) (count, bool) {
	if s.charged == nil || s.charged.others == nil {
		return count{}, false
	}
	return *s.charged.others, true
}

// underLimit counts what reached the device and counts against the group's limit. Version 1 charges an I/O before it
// waits, so the count there is everything that the device did, minus what was charged to others.
func underLimit(s sample) (count, bool) {
	if s.charged == nil || s.charged.root == nil {
		return byGroup(s)
	}
	others, known := byOthers(s)
	return s.count.plus(others, -1).plus(s.charged.otherGroups, -1), known
}

// course returns the I/O that of selects until a time, or nil if it is unknown for part of the time.
func (r Row) course(samples []sample, until time.Duration, of ioOf) course {
	var c course
	for _, s := range samples {
		if s.at > until+sampleEvery && len(c) > 1 {
			break
		}
		n, known := of(s)
		if !known {
			return nil
		}
		c = append(c, step{s.at, r.amount(n)})
	}
	return c
}

// total returns the sum of what was done; 0 without a course.
func (c course) total() float64 {
	if len(c) == 0 {
		return 0
	}
	return c[len(c)-1].total - c[0].total
}

// by returns the total at a time, by interpolation.
func (c course) by(at time.Duration) float64 {
	for i, s := range c {
		if s.at < at {
			continue
		}
		if i == 0 || s.at == at {
			return s.total
		}
		p := c[i-1]
		return p.total + (s.total-p.total)*float64(at-p.at)/float64(s.at-p.at)
	}
	return c[len(c)-1].total
}

// rate returns what was done per second, or -1 without a course. It is the rate of the steady part, after the first
// second, if there is one; with whole, that of the whole course.
//
// A limiter lets I/O through in slices, so the total at any single time may be off by a whole slice. The slope of the
// line through all totals is not affected.
func (c course) rate(end time.Duration, whole bool) float64 {
	if len(c) < 2 || end <= 0 {
		return -1
	}
	var x, y []float64
	for _, s := range c {
		if s.at >= judge.Settling && s.at <= end {
			x, y = append(x, s.at.Seconds()), append(y, s.total)
		}
	}
	if whole || end < steadyFrom || len(x) < 3 {
		return (c.by(end) - c.by(0)) / end.Seconds()
	}
	_, slope := stat.LinearRegression(x, y, nil, false)
	return slope
}

// of is rate; for a row that counts as a whole, it is the whole course over the row's time.
func (c course) of(elapsed time.Duration, whole bool) float64 {
	if !whole || len(c) < 2 || elapsed <= 0 {
		return c.rate(elapsed, false)
	}
	return c.total() / elapsed.Seconds()
}

// mean returns the whole course over the row's time, at least 0; -1 without a course.
func (c course) mean(elapsed time.Duration) float64 {
	if c == nil {
		return -1
	}
	return max(c.of(elapsed, true), 0)
}

// forever is the end of a course that counts as a whole.
const forever = time.Duration(math.MaxInt64 - int64(sampleEvery))

// untilLast returns what was done per second until the last step, and the time of that step; 0 if nothing was done, -1
// without a course.
func (c course) untilLast() (rate float64, at time.Duration) {
	if len(c) < 2 {
		return -1, 0
	}
	for i := len(c) - 1; i > 0; i-- {
		if c[i].total > c[i-1].total {
			at := c[i].at - c[0].at
			return (c[i].total - c[0].total) / at.Seconds(), at
		}
	}
	return 0, 0
}

// began returns the latest time at which the I/O of the course can have begun: the time of the last step before
// anything was done, or 0 without such a step. If the I/O had to wait, it may have begun earlier.
func (c course) began() time.Duration {
	for i := 1; i < len(c); i++ {
		if c[i].total > c[0].total {
			return c[i-1].at
		}
	}
	return 0
}

// endings is the minimum length of a course for letThrough, as a multiple of the limiter's longest pause.
const endings = 3

// letThrough returns what was done per second between two moments at which the limiter had just let something through,
// and the time between these moments. pause is how long the limit makes the largest step wait. If the course is too
// short for the pause, d is 0.
//
// The kernel submits a large buffered write as a single I/O of many MiB, which waits until the limit has room for all
// of it: under 10 MiB/s nothing for 0.8 s, and then 8 MiB. The number of such I/Os in a window depends on chance, and
// so does the window's rate. Between two moments at which one has just come through, chance plays no part: as long as
// something waits, the total is what the limit has let through.
//
// These moments are where the total is farthest above the limit's own line, in the first part of the course and in the
// last. So small I/Os that don't wait, and are not charged to the group, are not mistaken for such moments.
func (c course) letThrough(limit float64) (rate float64, d, pause time.Duration) {
	if len(c) < 2 {
		return 0, 0, 0
	}
	largest := 0.0
	for i := 1; i < len(c); i++ {
		largest = max(largest, c[i].total-c[i-1].total)
	}
	pause = time.Duration(min(largest/limit, 1e6)*float64(time.Second)) + followEvery
	begin, end := c[0].at, c[len(c)-1].at
	part := max(pause, judge.Slice) * 5 / 4
	if endings*part > end-begin {
		return 0, 0, pause
	}
	above := func(s step) float64 { return s.total - limit*s.at.Seconds() }
	first, last := c[0], c[len(c)-1]
	for _, s := range c {
		if s.at <= begin+part && above(s) > above(first) {
			first = s
		}
	}
	for i := len(c) - 1; i >= 0 && c[i].at >= end-part; i-- {
		if above(c[i]) > above(last) {
			last = c[i]
		}
	}
	d = last.at - first.at
	return (last.total - first.total) / d.Seconds(), d, pause
}

// afterFirst returns what was done per second after the first step, and how long that lasted. The pause before the
// first step does not count.
func (c course) afterFirst() (rate float64, d time.Duration) {
	first, last := -1, 0
	for i := 1; i < len(c); i++ {
		if c[i].total > c[i-1].total {
			if last = i; first < 0 {
				first = i
			}
		}
	}
	if first < 0 || last == first {
		return 0, 0
	}
	d = c[last].at - c[first].at
	return (c[last].total - c[first].total) / d.Seconds(), d
}

// first returns the rate of the first stretch of a course.
func (c course) first(d time.Duration) float64 {
	if len(c) < 2 {
		return 0
	}
	return (c.by(d) - c.by(0)) / d.Seconds()
}

// converged returns the earliest time after which the rate of every second is within share of asked; -1 if no time
// leaves a full second after it.
func (c course) converged(asked, share float64) time.Duration {
	if len(c) < 2 {
		return -1
	}
	at := time.Duration(-1)
	for t := time.Duration(0); t+time.Second <= c[len(c)-1].at; t += sampleEvery {
		off := math.Abs((c.by(t+time.Second)-c.by(t))/asked - 1)
		switch {
		case off > share:
			at = -1
		case at < 0:
			at = t
		}
	}
	return at
}
