package row

import (
	"cmp"
	"fmt"
	"time"

	"plimsoll/internal/limit/judge"
	"plimsoll/internal/text/size"
)

// steadyFrom is how long a row must be for its rate to be that of a steady part, in which the limiter's slices don't show.
const steadyFrom = 2 * time.Second

// judge fills r from what was measured.
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

// judgeApp judges what is done when the application is told so: by what the application saw.
func (r *Row) judgeApp(m *measured) {
	whole := r.whole()
	app, dev, group := r.appCourse(m.result.Samples), r.course(m.samples, r.until(), byDevice), r.course(m.samples, r.until(), byGroup)
	r.App, r.Device = app.rate(r.Elapsed, whole), dev.of(r.Elapsed, whole)
	if whole && m.device != nil {
		r.Device = r.amount(count{m.device.Reads, m.device.Writes, m.device.ReadBytes, m.device.WrittenBytes}) / r.Elapsed.Seconds()
	}
	seen := r.App
	// What a file system adds to a write counts against the limit as well, and is not seen by the application; nor is
	// what others of the group do. What others do on the device says nothing of this limit.
	charged := group.of(r.Elapsed, whole)
	r.others(charged)
	if r.small() {
		// Threads of the file system may have written it, in the root group: that is this row's as well.
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

// whole reports whether all of the row counts: a sync at the end belongs to all that was written before it, so that such a row has no steady part.
func (r *Row) whole() bool { return r.Mode == BufferedSync }

// until is the end of the courses that a row is judged by. One that counts whole has them whole: the device is followed from a moment before
// the application begins, so that by its clock the last of a sync comes after the row's end.
func (r *Row) until() time.Duration {
	if r.whole() {
		return forever
	}
	return r.Elapsed
}

// withoutFilling is the rate of a row with a sync at its end, seen, without the time that is not the limit's: while the application fills the page cache
// and nothing is written back yet. A slow processor takes a good part of the row for that. It is seen itself where that would be
// above the limit: then it may have begun earlier, and have been made to wait.
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

// judgeRead judges reads through the page cache: by what reached the device, with what the kernel reads ahead.
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
		// The kernel may have read ahead, or somebody else has read.
		least = r.App
	default:
		r.Others = 0
	}
	r.beginning(judged)
	r.decide(m, r.slope(m, judged, least, judged.rate(r.Elapsed, false)))
}

// slope is the evidence of a course's steady part, of which between least and most were the row's.
//
// Where that is above the limit and the mean of all of the course isn't, something has held the I/O up and then let it catch up: the slope of that
// is no rate, unless it is above the limit all the time.
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

// withMetadata is what a device may do for so many bytes or I/Os of an application, with a journal and other things that a file
// system adds. More is others'.
func (r Row) withMetadata(n float64) float64 {
	if r.Key.IOPS() {
		return n*1.1 + 256
	}
	return n*1.1 + 1<<20
}

// reachedShare is the share of what was written that must have been charged to a group, for the group to be the one that is
// charged.
const reachedShare = 0.9

// others fills in what others did on the device, where it is known what was charged to the row's own group (-1: it isn't).
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

// decide fills in the finding; the limit is r's, and the window where e has none.
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

// arrived is the share of what the application does past the page cache, or syncs, that at least is seen at the device
// that it is done on.
const arrived = 0.1

// missed reports whether the device saw almost nothing of what the application did: then its limit was not what
// bounded that.
func (r Row) missed() bool {
	return r.Mode != Buffered && r.Members <= 1 && r.Device >= 0 && r.Device < r.App*arrived
}
