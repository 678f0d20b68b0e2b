package row

import "plimsoll/internal/limit/judge"

// judgeTogether judges what the target did in all of its groups where its others did a part that matters. Version 1 holds each of them
// by itself, so that together they may do more than the limit while each is held.
func (r *Row) judgeTogether(m *measured) {
	c := r.course(m.samples, r.Elapsed, byOtherGroups)
	if c == nil {
		return
	}
	r.OtherGroups = c.mean(r.Elapsed)
	if r.OtherGroups <= r.Asked*judge.Tolerance {
		r.OtherGroups = 0
		return
	}
	if r.Others >= 0 {
		r.Others = max(r.Others-r.OtherGroups, 0)
	}
	if m.oneGroup || r.Members > 1 || r.Verdict == judge.NotHeld || r.Mode == Buffered && r.Key.Writes() {
		return
	}
	// A charge comes before the wait: of each group's, an I/O more or less lies at the ends.
	e := judge.Evidence{Asked: r.Asked, Least: r.Seen + r.OtherGroups, Most: r.Seen + r.OtherGroups, Window: r.Elapsed, Tolerance: m.tolerance, InFlight: 2 * wholeIO}
	if r.Key.IOPS() {
		e.InFlight = 2 * depth
	}
	f := e.Of(r.Key)
	if f.Verdict != judge.NotHeld {
		return
	}
	f.With = "with the " + r.Rate(r.OtherGroups) + " of its other groups"
	if r.With != "" {
		f.With = r.With + ", and the " + r.Rate(r.OtherGroups) + " of its other groups"
	}
	r.Together, r.Finding = true, f
}
