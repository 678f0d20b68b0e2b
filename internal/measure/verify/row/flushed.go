package row

import (
	"time"

	"plimsoll/internal/limit/judge"
)

// judgeLate judges what the kernel's flusher writes back, by what reached the device of it.
//
// The flusher sends what is in the cache in pieces of many MiB, and a limiter makes it wait before each: a window may
// hold none. What counts is all that came, up to the last of it. Where others write too, that is between what the
// application wrote, all of which had come when the flusher was done, and all that may be its.
//
// The time counts from when the flusher began, which is known only between two bounds (course.began): what came must be too much
// for the whole of the time to be above the limit, and too little for the least of it to be below.
func (r *Row) judgeLate(m *measured) {
	app, dev := r.appCourse(m.result.Samples), r.course(m.samples, forever, byDevice)
	r.App = app.rate(m.result.Elapsed, false)
	r.Device, r.Elapsed = dev.untilLast()
	if len(dev) < 2 {
		r.decide(m, judge.Evidence{Most: -1})
		return
	}
	wrote, reached := app.total(), dev.total()
	alone := r.most(wrote)
	if reached > alone && m.flushed > 0 {
		// The last that came may be another's.
		r.Elapsed = m.flushed
	}
	may, came := reached, dev
	// In version 2 it is charged to who wrote, where the file system says who that is.
	mine, all := r.course(m.samples, forever, byGroup), r.course(m.samples, forever, byGroupAndRoot)
	if mine != nil {
		if m.samples[0].charged.root != nil || mine.total() >= wrote*reachedShare/float64(max(r.Members, 1)) {
			may, came = min(may, all.total()), all
		}
	}
	least := may
	if may > alone {
		least = min(wrote, may)
		if r.Members > 1 || r.Key.IOPS() {
			least = min(least, mine.total()) // What was written may have come to the others, or as fewer I/Os.
		}
	}
	// From the start, and from the latest time that the flusher can have begun at.
	whole, work := r.Elapsed.Seconds(), r.Elapsed.Seconds()
	if began := min(came.began(), m.flushing); began > 0 && began < r.Elapsed {
		r.Elapsed -= began
		work = r.Elapsed.Seconds()
		r.Device *= whole / work
	}
	if whole <= 0 {
		whole, work = 1, 1 // Nothing came.
	}
	r.Others = 0
	if reached > alone {
		r.Others = (reached - least) / work
	}
	// By all of the time, slices and all: what is above the limit so is above it however late the flusher began.
	total := judge.Evidence{Asked: r.Asked, Least: least / whole, Most: may / whole, Window: time.Duration(whole * float64(time.Second)), Tolerance: m.tolerance}
	if total.Above(total.Most) {
		r.decide(m, total)
		if total.Above(total.Least) {
			r.Seen, r.Off = least/work, least/work/r.Asked-1
		}
		return
	}
	e := judge.Evidence{Least: least / work, Most: may / work}
	if total.Above(e.Most) {
		// It may have begun earlier and have been made to wait: what came after the first of it is not concerned.
		rate, d := came.rest()
		if reached <= alone {
			rate, d = dev.rest()
		}
		if e.Most = rate; d < judge.Shortest || total.Above(rate) {
			e = judge.Evidence{Least: may / whole, Most: may / work, Unsure: judge.Late}
		}
		e.Least = min(e.Least, e.Most)
	}
	r.decide(m, e)
}
