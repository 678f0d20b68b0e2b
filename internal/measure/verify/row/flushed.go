package row

import (
	"time"

	"plimsoll/internal/limit/judge"
)

// judgeFlushed judges what the kernel's flusher writes back, by how much of it reached the device.
//
// The flusher sends the contents of the cache in pieces of many MiB, and a limiter makes it wait before each: a window
// may contain none. So everything counts that arrived, up to the last piece.
//
// The time counts from when the flusher began, which is known only between two bounds (course.began). To be above the
// limit, the amount must be too much for the longest possible time; to be below, too little for the shortest.
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
		r.Elapsed = m.flushed // The last arrival may be another group's.
	}
	came, least, most := r.flushed(m, app.total(), dev)
	// The time from the start, and the time from the latest moment at which the flusher can have begun.
	all, working := r.Elapsed.Seconds(), r.Elapsed.Seconds()
	if began := min(came.began(), m.flushing); began > 0 && began < r.Elapsed {
		r.Elapsed -= began
		working = r.Elapsed.Seconds()
		r.Device *= all / working
	}
	if all <= 0 {
		all, working = 1, 1 // Nothing arrived.
	}
	if r.Others = 0; !alone {
		r.Others = (dev.total() - least) / working
	}
	// This includes slices: a rate that is above the limit for all of the time is above it however late the flusher
	// began.
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
		// The flusher may have begun earlier and waited. That doesn't affect what arrived after the first piece.
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

// flushed returns how much of what the application wrote reached the device, between two bounds. If others write too,
// the lower bound is what was written, all of which had arrived when the flusher was done, and the upper bound is
// everything that may be the row's.
func (r *Row) flushed(m *measured, wrote float64, dev course) (came course, least, most float64) {
	came, most = dev, dev.total()
	// Version 2 charges it to the group that wrote, if the file system says which group that is.
	group, both := r.course(m.samples, forever, byGroup), r.course(m.samples, forever, byGroupAndRoot)
	if group != nil && (m.samples[0].charged.root != nil || group.total() >= wrote*reachedShare/float64(max(r.Members, 1))) {
		came, most = both, min(most, both.total())
	}
	if most <= r.withMetadata(wrote) {
		return came, most, most
	}
	least = min(wrote, most)
	if r.Members > 1 || r.Key.IOPS() {
		least = min(least, group.total()) // What was written may have gone to the other devices, or arrived as fewer I/Os.
	}
	return came, least, most
}
