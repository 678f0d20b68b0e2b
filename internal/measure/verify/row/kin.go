package row

import (
	"time"

	"plimsoll/internal/limit/judge"
)

// kinCourse is what was charged to the target's other groups, of points that have charges.
func (r Row) kinCourse(points []point, until time.Duration) course {
	var c course
	for _, p := range points {
		if p.at > until+sampleEvery && len(c) > 1 {
			break
		}
		if p.charge == nil {
			return nil
		}
		c = append(c, step{p.at, r.amount(p.charge.kin)})
	}
	return c
}

// judgeTogether judges what the target did in all of its groups where its others did a part that matters. Version 1 holds each of them
// by itself, so that together they may do more than the limit while each is held.
func (r *Row) judgeTogether(m *measured, tolerance float64) {
	c := r.kinCourse(m.course, r.Elapsed)
	if c == nil {
		return
	}
	r.Kin = max(c.of(r.Elapsed, true), 0)
	if r.Kin <= r.Asked*judge.Tolerance {
		r.Kin = 0
		return
	}
	if r.Others >= 0 {
		r.Others = max(r.Others-r.Kin, 0)
	}
	if m.single || r.Members > 1 || r.Verdict == judge.NotHeld || r.Mode == Buffered && r.Key.Writes() {
		return
	}
	// A charge comes before the wait: of each group's, an I/O more or less lies at the ends.
	e := judge.Evidence{Asked: r.Asked, Least: r.Seen + r.Kin, Most: r.Seen + r.Kin, Window: r.Elapsed, Tolerance: tolerance, InFlight: 2 * wholeIO}
	if r.Key.IOPS() {
		e.InFlight = 2 * depth
	}
	f := e.Of(r.Key)
	if f.Verdict != judge.NotHeld {
		return
	}
	f.With = "with the " + r.Rate(r.Kin) + " of its other groups"
	if r.With != "" {
		f.With = r.With + ", and the " + r.Rate(r.Kin) + " of its other groups"
	}
	r.Together, r.Finding = true, f
}
