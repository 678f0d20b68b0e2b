package row

import (
	"time"

	"plimsoll/internal/limit/judge"
)

// judgeFlushed judges what the kernel's flusher writes back, by what reached the device of it.
//
// The flusher sends what is in the cache in pieces of many MiB, and a limiter makes it wait before each: a window may
// hold none. What counts is all that came, up to the last of it.
//
// The time counts from when the flusher began, which is known only between two bounds (course.began): what came must be too much
// for all of the time to be above the limit, and too little for the least of it to be below.
func (r *Row) judgeFlushed(m *measured) {
	app, dev := r.appCourse(m.result.Samples), r.course(m.samples, forever, byDevice)
	r.App = app.rate(m.result.Elapsed, false)
	r.Device, r.Elapsed = dev.untilLast()
	if len(dev) < 2 {
		r.decide(m, judge.Evidence{Most: -1})
		return
	}
	alone := dev.total() <= r.withMetadata(app.total())
	if !alone && m.flushed > 0 {
		r.Elapsed = m.flushed // The last that came may be another's.
	}
	came, least, most := r.flushed(m, app.total(), dev)
	// The time from the start, and from the latest moment at which the flusher can have begun.
	all, working := r.Elapsed.Seconds(), r.Elapsed.Seconds()
	if began := min(came.began(), m.flushing); began > 0 && began < r.Elapsed {
		r.Elapsed -= began
		working = r.Elapsed.Seconds()
		r.Device *= all / working
	}
	if all <= 0 {
		all, working = 1, 1 // Nothing came.
	}
	if r.Others = 0; !alone {
		r.Others = (dev.total() - least) / working
	}
	// Slices and all: what is above the limit in all of the time is above it however late the flusher began.
	e := judge.Evidence{Asked: r.Asked, Tolerance: m.tolerance, Least: least / all, Most: most / all, Window: time.Duration(all * float64(time.Second))}
	if e.Above(e.Most) {
		r.decide(m, e)
		if e.Above(e.Least) {
			r.Seen, r.Off = least/working, least/working/r.Asked-1
		}
		return
	}
	least, most = least/working, most/working
	if e.Above(most) {
		// It may have begun earlier and have been made to wait: that doesn't concern what came after the first of it.
		rate, d := came.afterFirst()
		if alone {
			rate, d = dev.afterFirst()
		}
		if d < judge.Shortest || e.Above(rate) {
			r.decide(m, judge.Evidence{Least: e.Most, Most: most, Unsure: judge.Late})
			return
		}
		least, most = min(least, rate), rate
	}
	r.decide(m, judge.Evidence{Least: least, Most: most})
}

// flushed is what came to the device of what the application wrote, and between which bounds that is. Where others write too, it is
// between what was written, all of which had come when the flusher was done, and all that may be the row's.
func (r *Row) flushed(m *measured, wrote float64, dev course) (came course, least, most float64) {
	came, most = dev, dev.total()
	// In version 2 it is charged to the group that wrote, where the file system says which that is.
	group, both := r.course(m.samples, forever, byGroup), r.course(m.samples, forever, byGroupAndRoot)
	if group != nil && (m.samples[0].charged.root != nil || group.total() >= wrote*reachedShare/float64(max(r.Members, 1))) {
		came, most = both, min(most, both.total())
	}
	if most <= r.withMetadata(wrote) {
		return came, most, most
	}
	least = min(wrote, most)
	if r.Members > 1 || r.Key.IOPS() {
		least = min(least, group.total()) // What was written may have come to the other devices, or as fewer I/Os.
	}
	return came, least, most
}
