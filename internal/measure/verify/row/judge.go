package row

import (
	"cmp"
	"fmt"
	"time"

	"plimsoll/internal/limit/judge"
	"plimsoll/internal/text/size"
)

// steadyFrom is the minimum length of a row whose rate is that of a steady part, in which the limiter's slices don't
// show.
const steadyFrom = 2 * time.Second

// judge fills in r from the measurement.
func (r *Row) judge(m *measured) {
	r.Elapsed = m.result.Elapsed
	r.Converged, r.Others = -1, -1
	switch {
	case r.Mode == Buffered && r.Key.Writes():
		r.judgeFlushed(m)
	case r.Members > 1:
		r.judgeMember(m)
	case r.Mode == Buffered:
		r.judgeRead(m)
	default:
		r.judgeApp(m)
	}
	if r.Verdict == judge.Unproved && r.Cause != judge.Changed && r.small() {
		r.blameMerging(m)
	}
	r.judgeGroups(m)
}

// judgeApp judges modes in which the application learns when an I/O is done: by what the application saw.
func (r *Row) judgeApp(m *measured) {
	whole := r.whole()
	app, dev, group := r.appCourse(m.result.Samples), r.course(m.samples, r.until(), byDevice), r.course(m.samples, r.until(), byGroup)
	r.App, r.Device = app.rate(r.Elapsed, whole), dev.of(r.Elapsed, whole)
	if whole && m.device != nil {
		r.Device = r.amount(count{m.device.Reads, m.device.Writes, m.device.ReadBytes, m.device.WrittenBytes}) / r.Elapsed.Seconds()
	}
	seen := r.App
	// A file system's additions to a write count against the limit as well, although the application doesn't see them;
	// so does I/O of other processes in the group. What others do on the device doesn't concern this limit.
	charged := group.of(r.Elapsed, whole)
	r.others(charged)
	if r.small() {
		// Threads of the file system may have written it, in the root group: that counts as this row's as well.
		r.others(r.course(m.samples, forever, byGroupAndRoot).of(r.Elapsed, true))
		var few bool
		if seen, few = r.merged(m, seen); few {
			return
		}
	}
	e := judge.Evidence{Least: seen, Most: seen}
	if !whole {
		r.beginning(app)
		e = r.slope(m, app, seen, seen)
	}
	if e.Unsure != judge.Uneven && r.judgeWithTarget(m) {
		return
	}
	if whole {
		came := group
		if group == nil {
			came = dev
		}
		e.Most = r.withoutFilling(m, seen, app, came)
	}
	e.Reached = max(e.Most, min(charged, r.Device))
	r.decide(m, e)
}

// whole reports whether the row counts as a whole: a sync at the end belongs to everything written before it, so such a
// row has no steady part.
func (r *Row) whole() bool { return r.Mode == BufferedSync }

// until returns the end of the courses by which a row is judged. For a row that counts as a whole, it is the end of the
// courses: the device is followed from a moment before the application begins, so by its clock the end of a sync comes
// after the row's end.
func (r *Row) until() time.Duration {
	if r.whole() {
		return forever
	}
	return r.Elapsed
}

// withoutFilling returns the rate of a row with a sync at its end, without the time in which the limit had no part:
// while the application fills the page cache and nothing is written back yet, which takes a slow processor a good part
// of the row. If that rate would be above the limit, it returns seen instead, because the write-back may have begun
// earlier and waited.
func (r *Row) withoutFilling(m *measured, seen float64, app, came course) float64 {
	_, filled := app.untilLast()
	d := r.Elapsed - min(came.began(), filled)
	if d <= 0 {
		return seen
	}
	v := seen * r.Elapsed.Seconds() / d.Seconds()
	if (judge.Evidence{Asked: r.Asked, Tolerance: m.tolerance}).Above(v) {
		return seen
	}
	return v
}

// judgeRead judges reads through the page cache, by what reached the device, including the kernel's read-ahead.
func (r *Row) judgeRead(m *measured) {
	app, dev, group := r.appCourse(m.result.Samples), r.course(m.samples, r.Elapsed, byDevice), r.course(m.samples, r.Elapsed, byGroup)
	r.App, r.Device = app.rate(r.Elapsed, false), dev.rate(r.Elapsed, false)
	judged, least := dev, r.Device
	switch mine := group.total(); {
	case group != nil && dev.total() > r.withMetadata(mine):
		judged, least = group, group.rate(r.Elapsed, false)
		r.others(least)
	case group != nil:
		r.others(r.Device)
	case dev.total() > r.withMetadata(app.total()):
		// The kernel may have read ahead, or another process may have read.
		least = r.App
	default:
		r.Others = 0
	}
	r.beginning(judged)
	r.decide(m, r.slope(m, judged, least, judged.rate(r.Elapsed, false)))
}

// slope returns the evidence of a course's steady part; between least and most of it were the row's.
//
// If the steady part is above the limit and the mean of the whole course isn't, something held the I/O up and then let
// it catch up. The slope of that is not a rate, unless it is above the limit all the time.
func (r *Row) slope(m *measured, c course, least, most float64) judge.Evidence {
	e := judge.Evidence{Asked: r.Asked, Tolerance: m.tolerance, Least: least, Most: most, Window: r.Elapsed, Steady: r.Elapsed >= steadyFrom}
	if !e.Above(most) {
		return e
	}
	mean := e
	mean.Least, mean.Steady, mean.Unsure = min(least, c.total()/r.Elapsed.Seconds()), false, judge.Uneven
	from := min(time.Second, r.Elapsed/2)
	half := (r.Elapsed - from) / 2
	first, last := c.by(from+half)-c.by(from), c.by(r.Elapsed)-c.by(r.Elapsed-half)
	if e.Above(c.total()/r.Elapsed.Seconds()-mean.Extra()) || e.Above(min(first, last)/half.Seconds()) {
		return e
	}
	return mean
}

// withMetadata returns the maximum that a device may do for that many bytes or I/Os of an application, with the journal
// and other additions of a file system. Anything beyond is others'.
func (r Row) withMetadata(n float64) float64 {
	if r.Key.IOPS() {
		return n*1.1 + 256
	}
	return n*1.1 + 1<<20
}

// reachedShare is the share of the written data that must have been charged to a group to conclude that the writes are
// charged to that group.
const reachedShare = 0.9

// others fills in what others did on the device, if the charge of the row's own group is known (own is not -1).
func (r *Row) others(own float64) {
	if own >= 0 && r.Device >= 0 {
		r.Others = max(r.Device-own, 0)
	}
}

// beginning fills in how the row began.
func (r *Row) beginning(c course) {
	r.Overshoot = max(c.first(time.Second)/r.Asked-1, 0)
	r.Converged = c.converged(r.Asked, 0.1)
}

// decide fills in the finding. The limit is r's, and the window too if e has none.
func (r *Row) decide(m *measured, e judge.Evidence) {
	e.Asked, e.Tolerance, e.Window = r.Asked, m.tolerance, cmp.Or(e.Window, r.Elapsed)
	switch {
	case len(r.Changed) > 0:
		e.Doubt = judge.Changed
	case e.Doubt == "" && r.missed():
		e.Doubt, e.Arrived = judge.Missed, r.Device
	}
	r.Finding = e.Of(r.Key)
	if r.Own > 0 {
		r.With = "with the " + r.Rate(r.Own) + " that the target itself used"
	}
	if r.Members > 1 {
		r.At = judge.ThisDevice
	}
	switch r.Cause {
	case judge.Changed:
		r.Why = r.ChangedWords()
	case judge.TooShort:
		r.Why = fmt.Sprintf("%s: verify with --time %s", e.Short(), max(e.Enough(), 2*r.Elapsed).Round(time.Second))
		if r.Elapsed < judge.Shortest {
			r.Why = fmt.Sprintf("too short: it took only %s: the scratch file is too small for this limit", size.Duration(r.Elapsed))
		}
	case judge.Shared:
		r.Why += "; verify when the others are quiet"
	case judge.Uneven, judge.Late:
		r.Why += "; verify with more --time, or when the machine is quiet"
	case judge.Slower:
		if r.Members > 1 && e.Reaches(r.App) {
			r.Why = fmt.Sprintf("the application saw %s: the file system sent the rest to its other devices", r.Rate(r.App))
		}
	}
}

// arrived is the minimum share of the application's I/O, direct or synced, that shows at its device.
const arrived = 0.1

// missed reports whether almost nothing of the application's I/O showed at the device. Then its rate was not bounded by
// the device's limit.
func (r Row) missed() bool {
	return r.Mode != Buffered && r.Members <= 1 && r.Device >= 0 && r.Device < r.App*arrived
}
