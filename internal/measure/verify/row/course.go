package row

import (
	"math"
	"time"

	"gonum.org/v1/gonum/stat"

	"plimsoll/internal/limit/judge"
	"plimsoll/load"
)

// A course is how much was done by which time.
type course []step

type step struct {
	at    time.Duration
	total float64
}

// appCourse is what the application did. A row's job either reads or writes.
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

// A party is whose I/O a course is of: what it did by a sample, false where that isn't known.
type party func(sample) (count, bool)

// The device did all that reached it.
func byDevice(s sample) (count, bool) { return s.count, true }

// The limited group was charged for the worker's I/O, and for what else the target does there.
func byGroup(s sample) (count, bool) {
	if s.charged == nil {
		return count{}, false
	}
	return s.charged.group, true
}

// With the root group's it is all that may be the worker's: in version 1 that one is charged for what the kernel writes back.
func byGroupAndRoot(s sample) (count, bool) {
	n, known := byGroup(s)
	if known && s.charged.root != nil {
		n = n.plus(*s.charged.root, 1)
	}
	return n, known
}

// The target's other groups are charged in version 1; in version 2 the limited one holds them.
func byOtherGroups(s sample) (count, bool) {
	if s.charged == nil {
		return count{}, false
	}
	return s.charged.otherGroups, true
}

// Others' groups are known in version 1.
func byOthers(s sample) (count, bool) {
	if s.charged == nil || s.charged.others == nil {
		return count{}, false
	}
	return *s.charged.others, true
}

// Under the limit is what reached the device and counts against the group's limit. In version 1 a charge comes before the wait, so that it is what
// the device did but for what was charged to others.
func underLimit(s sample) (count, bool) {
	if s.charged == nil || s.charged.root == nil {
		return byGroup(s)
	}
	others, known := byOthers(s)
	return s.count.plus(others, -1).plus(s.charged.otherGroups, -1), known
}

// course is what a party did until a time; nil where that isn't known all of the time.
func (r Row) course(samples []sample, until time.Duration, of party) course {
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

// total is all that was done; 0 without a course.
func (c course) total() float64 {
	if len(c) == 0 {
		return 0
	}
	return c[len(c)-1].total - c[0].total
}

// by is the total at a time, interpolated.
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

// rate is what was done a second; -1 without a course. Unless whole asks for all of it, it is that of the
// steady part, after the first second, where there is one.
//
// A limiter lets through what is due in slices, so that the total at any one time may be a whole slice off. The
// slope of the line through all of the totals is not.
func (c course) rate(end time.Duration, whole bool) float64 {
	if len(c) < 2 || end <= 0 {
		return -1
	}
	var x, y []float64
	for _, s := range c {
		if s.at >= time.Second && s.at <= end {
			x, y = append(x, s.at.Seconds()), append(y, s.total)
		}
	}
	if whole || end < steadyFrom || len(x) < 3 {
		return (c.by(end) - c.by(0)) / end.Seconds()
	}
	_, slope := stat.LinearRegression(x, y, nil, false)
	return slope
}

// of is rate; of a row that counts whole, it is all of the course for the row's time.
func (c course) of(elapsed time.Duration, whole bool) float64 {
	if !whole || len(c) < 2 || elapsed <= 0 {
		return c.rate(elapsed, false)
	}
	return c.total() / elapsed.Seconds()
}

// mean is all of the course for the row's time, 0 at least; -1 without a course.
func (c course) mean(elapsed time.Duration) float64 {
	if c == nil {
		return -1
	}
	return max(c.of(elapsed, true), 0)
}

// forever is the end of a course that is taken whole.
const forever = time.Duration(math.MaxInt64 - int64(sampleEvery))

// untilLast is what was done a second up to the last of it, and when that was; 0 if nothing was, -1 without a course.
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

// began is the latest time at which what is in the course can have begun: that of the last step before anything was done; 0 without any.
// Who is made to wait before the first of it may have begun earlier.
func (c course) began() time.Duration {
	for i := 1; i < len(c); i++ {
		if c[i].total > c[0].total {
			return c[i-1].at
		}
	}
	return 0
}

// endings is how many times as long as the limiter's longest pause a course must be for letThrough to tell its rate.
const endings = 3

// letThrough is what was done a second between two moments at which the limiter had just let something through, and how long lay between them.
// pause is how long the limit makes the largest step wait; where the course is too short for it, d is 0.
//
// The kernel hands a large buffered write on as a single I/O of many MiB, which waits until the limit has room for all of it: under 10 MiB/s nothing
// for 0.8 s, and then 8 MiB. How many of them a window holds is chance, and with it the rate of the window. Between two moments at which one has
// just come through it is not: as long as something waits, the total then is what the limit has let through.
//
// Those moments are where the total is farthest above the limit's own line, in the first part of the course and in the last. So small I/Os that
// don't wait, and are not charged to the group, are no such moments.
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

// afterFirst is what was done a second after the first of it, and how long that lasted: the pause before the first doesn't count.
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

// first is the rate of the first stretch of a course.
func (c course) first(d time.Duration) float64 {
	if len(c) < 2 {
		return 0
	}
	return (c.by(d) - c.by(0)) / d.Seconds()
}

// converged is the earliest time from which on each second's rate is within share of asked; -1 if there is
// none that leaves a second to say so.
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
