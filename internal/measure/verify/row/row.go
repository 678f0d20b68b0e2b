package row

import (
	"fmt"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/text/size"
)

// steadyFrom is how long a row must be for its rate to be that of a steady part, in which the limiter's slices don't show.
const steadyFrom = 2 * time.Second

// A Row is one limit in one mode. Rates are in bytes or I/Os per second, as the key says.
type Row struct {
	Key   limit.Key `json:"key"`
	Mode  Mode      `json:"mode"`
	Asked int64     `json:"asked"`
	// BS is the size of the application's I/Os in bytes.
	BS int64 `json:"bs"`
	// Members is over how many devices the file system spreads its data, where that is more than one: each is judged by what came to it.
	Members int `json:"members,omitempty"`
	// App is the rate that the application saw, Device what reached the device that is limited,
	// whoever sent it; -1: unknown. Both leave the first second out, where the row lasted longer and has a steady part.
	App    float64 `json:"app"`
	Device float64 `json:"device"`
	// Others is how much of Device was not this row's: other groups' and, where the row is of what the kernel writes back, more than was
	// written; -1: unknown.
	Others float64 `json:"others"`
	// Own is how much of the limit the target used itself beside the worker, 0 where that isn't known to matter. Then Seen is the sum.
	Own float64 `json:"own"`
	// Kin is what the target's other groups did meanwhile, on control groups of version 1, where each is held by itself or not at all. Seen is
	// the sum with it where that is above the limit.
	Kin float64 `json:"kin"`
	// Seen is what the verdict is about, App or the row's share of Device, and Off its distance from the limit as a
	// share of it.
	Seen float64 `json:"seen"`
	Off  float64 `json:"off"`
	// Together: Seen is what the target did in all of its groups, of which each for itself may be held.
	Together bool `json:"together"`
	// Changed are the values that the kernel's limit was changed to while the row was measured, 0 for none.
	Changed []int64 `json:"changed"`
	// Error reports why the row could not be measured.
	Error string `json:"error,omitempty"`
	// Overshoot is by what share of the limit the first second was above it, 0 if it was not.
	Overshoot float64 `json:"overshoot"`
	// Converged is after which time the rate stayed within a tenth of the limit, -1 if it never did.
	Converged time.Duration `json:"converged"`
	// Elapsed is how long the row was measured.
	Elapsed time.Duration `json:"elapsed"`
	Verdict judge.Verdict `json:"verdict"`
	// Why explains a verdict other than held, and Fix is what would mend one that is not held. Of that both are the caller's, who
	// knows what the files lie on.
	Why string `json:"why,omitempty"`
	Fix string `json:"fix,omitempty"`
}

// Words is the verdict as a sentence with its evidence.
func (r Row) Words() string {
	switch r.Verdict {
	case judge.Held:
		s := fmt.Sprintf("held: asked %s, saw %s (%+.1f %%)", r.Rate(float64(r.Asked)), r.Rate(r.Seen), r.Off*100)
		if r.Own > 0 {
			return s + ", with the " + r.Rate(r.Own) + " that the target itself used"
		}
		if r.Members > 1 {
			s += " at this device"
		} else if r.Off < -judge.Tolerance {
			s += fmt.Sprintf("; with what the file system adds the device saw %s", r.Rate(r.Device-max(r.Others, 0)))
		}
		return s
	case judge.NotHeld:
		if r.Mode == Elsewhere {
			return fmt.Sprintf("limit NOT held: asked %s; %s", r.Rate(float64(r.Asked)), r.Why)
		}
		s := fmt.Sprintf("limit NOT held: asked %s, saw %s (%.3g times)", r.Rate(float64(r.Asked)), r.Rate(r.Seen), r.Seen/float64(r.Asked))
		with := ", with the "
		if r.Own > 0 {
			s += with + r.Rate(r.Own) + " that the target itself used"
			with = ", and the "
		}
		if r.Together {
			s += with + r.Rate(r.Kin) + " of its other groups"
		}
		if r.Members > 1 {
			s += " at this device"
		}
		return s
	case judge.Unproved:
		return "unproved: " + r.Why
	}
	return "failed: " + r.Error
}

// Rate writes a rate in the unit of the row's key.
func (r Row) Rate(v float64) string {
	if v < 0 {
		return "unknown"
	}
	return r.Key.PerSecond(v)
}

// judge fills r from what was measured.
func (r *Row) judge(m *measured, tolerance float64) {
	r.Elapsed = m.result.Elapsed
	r.Converged, r.Others = -1, -1
	switch {
	case r.Mode == Buffered && r.Key.Writes():
		r.judgeLate(m, tolerance)
	case r.Members > 1:
		r.judgeMember(m, tolerance)
	case r.Mode == Buffered:
		r.judgeRead(m, tolerance)
	default:
		r.judgeApp(m, tolerance)
	}
	if r.Verdict == judge.Unproved && r.small() {
		r.blameMerging(m)
	}
	r.judgeTogether(m, tolerance)
}

// judgeApp judges what is done when the application is told so: by what the application saw.
func (r *Row) judgeApp(m *measured, tolerance float64) {
	// A sync at the end belongs to all that was written before it: such a row has no steady part.
	whole := r.Mode == BufferedSync
	app, dev, own := r.appCourse(m.result.Samples), r.deviceCourse(m.course, r.until(whole)), r.chargeCourse(m.course, r.until(whole), false)
	r.App, r.Device = app.rate(r.Elapsed, whole), dev.of(r.Elapsed, whole)
	if whole && m.device != nil {
		r.Device = r.amount(count{m.device.Reads, m.device.Writes, m.device.ReadBytes, m.device.WrittenBytes}) / r.Elapsed.Seconds()
	}
	r.Seen = r.App
	// What a file system adds to a write counts against the limit as well, and is not seen by the application; nor is
	// what others of the group do. What others do on the device says nothing of this limit.
	charged := own.of(r.Elapsed, whole)
	r.others(charged)
	if r.small() {
		// Threads of the file system may have written it, in the root group: that is this row's as well.
		r.others(r.chargeCourse(m.course, forever, true).of(r.Elapsed, true))
		if r.merged(m, tolerance) {
			return
		}
	}
	if !whole {
		r.settle(app)
		if r.uneven(app, tolerance) {
			return
		}
	}
	if r.judgeSum(m, whole, tolerance) {
		return
	}
	seen := r.Seen
	if whole {
		came := own
		if own == nil {
			came = dev
		}
		r.Seen = r.working(seen, app, came, tolerance)
	}
	r.decide(judge.Seen{Least: seen, Most: r.Seen, Reached: max(r.Seen, min(charged, r.Device)), Steady: !whole}, tolerance)
}

// until is the end of the courses that a row is judged by. One that counts whole has them whole: the device is followed from a moment before
// the application begins, so that by its clock the last of a sync comes after the row's end.
func (r *Row) until(whole bool) time.Duration {
	if whole {
		return forever
	}
	return r.Elapsed
}

// working is the rate of a row with a sync at its end, seen, without the time that is not the limit's: while the application fills the page cache
// and nothing is written back yet. A slow processor takes a good part of the row for that. It is seen itself where that would be
// above the limit: then it may have begun earlier, and have been made to wait.
func (r *Row) working(seen float64, app, came course, tolerance float64) float64 {
	_, filled := app.untilLast()
	d := r.Elapsed - min(came.began(), filled)
	if d <= 0 {
		return seen
	}
	v := seen * r.Elapsed.Seconds() / d.Seconds()
	if (judge.Seen{Asked: float64(r.Asked), Tolerance: tolerance}).Above(v) {
		return seen
	}
	return v
}

// judgeRead judges reads through the page cache: by what reached the device, with what the kernel reads ahead.
func (r *Row) judgeRead(m *measured, tolerance float64) {
	app, dev, own := r.appCourse(m.result.Samples), r.deviceCourse(m.course, r.Elapsed), r.chargeCourse(m.course, r.Elapsed, false)
	r.App, r.Device = app.rate(r.Elapsed, false), dev.rate(r.Elapsed, false)
	judged, least := dev, r.Device
	switch mine := own.total(); {
	case own != nil && dev.total() > r.most(mine):
		judged, least = own, own.rate(r.Elapsed, false)
		r.others(least)
	case own != nil:
		r.others(r.Device)
	case dev.total() > r.most(app.total()):
		// The kernel may have read ahead, or somebody else has read.
		least = r.App
	default:
		r.Others = 0
	}
	r.settle(judged)
	r.Seen = judged.rate(r.Elapsed, false)
	if r.uneven(judged, tolerance) {
		return
	}
	r.decide(judge.Seen{Least: least, Most: r.Seen, Steady: r.Elapsed >= steadyFrom}, tolerance)
}

// uneven fills in the verdict where the rate of the steady part is above the limit and all that came is no more than the limiter
// may let through in that time: something has held it up and then let it catch up, and the slope of that is no rate.
func (r *Row) uneven(c course, tolerance float64) bool {
	asked := float64(r.Asked)
	above := asked * (1 + tolerance)
	if r.Seen <= above || c.total() > above*(r.Elapsed+judge.Carried).Seconds() {
		return false
	}
	from := min(time.Second, r.Elapsed/2)
	half := (r.Elapsed - from) / 2
	if first, last := c.by(from+half)-c.by(from), c.by(r.Elapsed)-c.by(r.Elapsed-half); min(first, last) > above*half.Seconds() {
		return false // It is above all the time.
	}
	r.Off = r.Seen/asked - 1
	r.Verdict, r.Why = judge.Unproved, fmt.Sprintf("the rate was uneven, %s after the first second, but in total no more than the limit allows: the machine is busy; verify with more --time, or when it is quiet", r.Rate(r.Seen))
	return true
}

// most is what a device may do for so many bytes or I/Os of an application, with a journal and other things that a file
// system adds. More is somebody else's.
func (r Row) most(n float64) float64 {
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

// settle fills in how the row began.
func (r *Row) settle(c course) {
	r.Overshoot = max(c.first(time.Second)/float64(r.Asked)-1, 0)
	r.Converged = c.converged(float64(r.Asked), 0.1)
}

// decide fills in the verdict on what was seen; the limit is r's, and the window where s has none.
func (r *Row) decide(s judge.Seen, tolerance float64) {
	s.Asked, s.Tolerance = float64(r.Asked), tolerance
	if s.Window == 0 {
		s.Window = r.Elapsed
	}
	r.Off = r.Seen/s.Asked - 1
	if r.Seen < 0 {
		r.Verdict, r.Why = judge.Unproved, "the device's counters could not be read"
		return
	}
	var cause judge.Cause
	r.Verdict, cause = s.Judge()
	switch {
	case r.Verdict == judge.Held && r.elsewhere():
		r.Verdict, r.Why = judge.Unproved, fmt.Sprintf("the application saw %s, but at most %s reached the device: the rest went elsewhere, or the device does not count it", r.Rate(r.App), r.Rate(r.Device))
	case cause == judge.Shared:
		r.Why = fmt.Sprintf("others used the device too, and the kernel doesn't report whose I/O it was: this row had between %s and %s; verify when the others are quiet", r.Rate(s.Least), r.Rate(s.Most))
	case cause == judge.TooShort && r.Elapsed < judge.Shortest:
		r.Why = fmt.Sprintf("too short: it took only %s: the scratch file is too small for this limit", size.Duration(r.Elapsed))
	case cause == judge.TooShort:
		r.Why = fmt.Sprintf("saw %s (%+.1f %%), %s: verify with --time %s", r.Rate(r.Seen), r.Off*100, s.Short(), r.enough(s))
	case cause == judge.Slower && r.Members > 1 && s.Reaches(r.App):
		r.Why = fmt.Sprintf("the application saw %s, but at most %s came to this device, below its limit of %s: the file system sent the rest to its other devices", r.Rate(r.App), r.Rate(r.Seen), r.Rate(s.Asked))
	case cause == judge.Slower:
		r.Why = fmt.Sprintf("something else is slower than the limit of %s: at most %s came through in this mode", r.Rate(s.Asked), r.Rate(r.Seen))
		if r.Own > 0 {
			r.Why += ", with the " + r.Rate(r.Own) + " that the target itself used"
		}
	}
}

// enough is a --time in which the row would tell, twice as long as it was at least.
func (r *Row) enough(s judge.Seen) string {
	return max(s.Enough(), 2*r.Elapsed).Round(time.Second).String()
}

// arrived is the share of what the application does past the page cache, or syncs, that at least is seen at the device
// that it is done on.
const arrived = 0.1

// elsewhere reports whether the device saw almost nothing of what the application did: then its limit was not what
// bounded that.
func (r Row) elsewhere() bool {
	return r.Mode != Buffered && r.Members <= 1 && r.Device >= 0 && r.Device < r.App*arrived
}

// amount picks what the key limits.
func (r Row) amount(n count) float64 {
	switch r.Key {
	case limit.ReadBPS:
		return float64(n.readBytes)
	case limit.WriteBPS:
		return float64(n.writtenBytes)
	case limit.ReadIOPS:
		return float64(n.reads)
	}
	return float64(n.writes)
}
