package verify

import "fmt"

// judgeLate judges what the kernel's flusher writes back, by what reached the device of it.
//
// The flusher sends what is in the cache in pieces of many MiB, and a limiter makes it wait before each: a window may
// hold none. What counts is all that came, up to the last of it. Where others write too, that is between what the
// application wrote, all of which had come when the flusher was done, and all that may be its.
//
// The time counts from when the flusher began, which is known only between two bounds (course.began): what came must be too much
// for the whole of the time to be above the limit, and too little for the least of it to be below.
func (r *Row) judgeLate(m *measured, tolerance float64) {
	app, dev := r.appCourse(m.result.Samples), r.deviceCourse(m.course, forever)
	r.App = app.rate(m.result.Elapsed, false)
	r.Device, r.Elapsed = dev.untilLast()
	if len(dev) < 2 {
		r.Seen = -1
		r.decide(-1, -1, -1, tolerance, false)
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
	mine, all := r.chargeCourse(m.course, forever, false), r.chargeCourse(m.course, forever, true)
	if mine != nil {
		if m.course[0].charge.nobody != nil || mine.total() >= wrote*reachedShare/float64(max(r.Members, 1)) {
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
	short := r.Elapsed < LeastTime/2
	above := float64(r.Asked) * (1 + tolerance)
	slack := 0.0
	if r.Key.IOPS() {
		// Few may come, where they are merged: no more at once than the limiter's slices let through.
		slack = float64(r.Asked) * carried.Seconds()
	}
	switch {
	case (least-slack)/whole > above:
		r.Seen = least / work
		r.decide(r.Seen, r.Seen, r.Seen, tolerance, short)
		return
	case (may-slack)/whole > above:
		r.Seen = may / whole
		r.decide((least-slack)/whole, r.Seen, r.Seen, tolerance, short)
		return
	}
	r.Seen = may / work
	if r.lessCarried(r.Seen) > above {
		// It may have begun earlier and have been made to wait: what came after the first of it is not concerned.
		rate, d := came.rest()
		if reached <= alone {
			rate, d = dev.rest()
		}
		if d < LeastTime/2 || r.lessCarried(rate) > above {
			r.Off = r.Seen/float64(r.Asked) - 1
			r.Verdict, r.Why = Unproved, fmt.Sprintf("the kernel's flusher began late, and when is not known: it wrote at between %s and %s; verify with more --time, or when the machine is quiet", r.Rate(may/whole), r.Rate(r.Seen))
			return
		}
		r.Seen = rate
	}
	r.decide(r.lessCarried(min(least/work, r.Seen)), r.lessCarried(r.Seen), r.Seen, tolerance, short)
}
