package row

import (
	"context"
	"fmt"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/text/size"
)

// lookFor is how long the target is observed before anything is measured.
const lookFor = time.Second

// largeWrite is the size of a write from the page cache, in bytes.
const largeWrite = 1 << 20

// inFlight returns how much may be in flight at the two ends of a row.
func (r *Row) inFlight() float64 {
	if r.Key.IOPS() {
		return 2 * depth
	}
	return 2 * largeWrite
}

// Busy returns how much of each limit the target itself uses per second. The worker must not have begun.
func (r Request) Busy(ctx context.Context) map[limit.Key]float64 {
	f := r.follow()
	select {
	case <-time.After(lookFor):
	case <-ctx.Done():
	}
	samples := f.end()
	if len(samples) == 0 {
		return nil
	}
	used := map[limit.Key]float64{}
	for key, asked := range r.Asked {
		row := Row{Finding: judge.Finding{Key: key}}
		last := samples[len(samples)-1]
		n := row.course(samples, forever, underLimit).mean(last.at)
		if last.charged != nil {
			// I/O of a neighbour that waits at the neighbour's own limit was charged before, so it seems to be the
			// target's. But the target can't do more than was ever charged to its group.
			n = min(n, row.amount(last.charged.group)/last.at.Seconds())
		}
		if n > float64(asked)*judge.Tolerance {
			used[key] = n
		}
	}
	return used
}

// judgeWithTarget judges the I/O of the worker and the target together. It returns false if the target did none that
// matters. Direct I/O in excess of the worker's is the target's. An excess of a sync may be the file system's, unless
// the target was busy before.
func (r *Row) judgeWithTarget(m *measured) bool {
	if r.Mode != Direct && !m.busy || r.small() {
		return false
	}
	// Use all of the row's time: the target's I/Os are large and come in pieces, whose slope is not a rate.
	app := r.appCourse(m.result.Samples).of(r.Elapsed, true)
	device := r.Device
	r.Device = r.course(m.samples, r.until(), byDevice).of(r.Elapsed, true)
	under := r.course(m.samples, r.until(), underLimit)
	share := under.mean(r.Elapsed)
	used := share - app
	if m.before != nil && !m.busy {
		used = min(used, r.mostOwn(m, app))
	}
	inFlight := r.inFlight()
	// If the target was idle before, the worker's I/O in flight at the row's ends must not count as the target's.
	if share < 0 || used <= r.Asked*judge.Tolerance || !m.busy && used*r.Elapsed.Seconds() <= inFlight {
		r.Device = device
		return false
	}
	r.App, r.Own = app, used
	r.Others = max(r.Device-share, 0)
	rate, d, pause := under.letThrough(r.Asked)
	e := judge.Evidence{Window: d, InFlight: inFlight}
	if d == 0 {
		// Even if nothing else moves, one of the target's I/Os more or less may fall within the row.
		rate, e.Window, e.InFlight, e.Doubt = share, r.Elapsed, inFlight+2*pause.Seconds()*r.Asked, judge.TooShort
	}
	e.Least, e.Most = rate, rate
	if r.course(m.samples, r.until(), byOthers).mean(r.Elapsed) > r.Asked*judge.Tolerance {
		e.Least = app // Others may have been charged for what came before, or will come later.
	}
	r.decide(m, e)
	if d == 0 && r.Cause == judge.TooShort {
		r.Why = fmt.Sprintf("too short: the target's own I/Os are so large that the limit lets one of them through in %s: verify with --time %s, or when the target is quiet", size.Duration(pause), (endings * pause * 5 / 4).Round(time.Second))
	}
	return true
}

// mostOwn returns the maximum that an idle target can have done per second beside the worker: what was charged to its
// group before the worker began, and in the row. Without this bound, I/O of a neighbour that was charged before the row,
// and waited at the neighbour's own limit, would seem to be the target's. I/O that the target begins while the worker
// lays out its file is missing, because the charge of that is the worker's as well.
func (r *Row) mostOwn(m *measured, app float64) float64 {
	// At the end of the row, some of the worker's I/O is charged and still waits.
	waits := float64(depth)
	if !r.Key.IOPS() {
		waits *= float64(r.BS)
	}
	charged := r.course(m.samples, r.until(), byGroup).mean(r.Elapsed)
	return max(charged-app-waits/r.Elapsed.Seconds(), 0) + r.amount(*m.before)/r.Elapsed.Seconds()
}

// judgeGroups judges the I/O of all of the target's groups, if the others did a part that matters. Version 1 limits
// each group by itself, so together they may do more than the limit although each is held.
func (r *Row) judgeGroups(m *measured) {
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
	// A charge comes before the wait: for each group, an I/O more or less may fall within the row.
	sum := r.Seen + r.OtherGroups
	f := judge.Evidence{Asked: r.Asked, Least: sum, Most: sum, Window: r.Elapsed, Tolerance: m.tolerance, InFlight: r.inFlight()}.Of(r.Key)
	if f.Verdict != judge.NotHeld {
		return
	}
	f.With = "with the "
	if r.With != "" {
		f.With = r.With + ", and the "
	}
	f.With += r.Rate(r.OtherGroups) + " of its other groups"
	r.Together, r.Finding = true, f
}

// Elsewhere stands in the column of modes for rows about groups outside the limited one that have processes of the target. verify
// observes them, and does no I/O in them.
const Elsewhere Mode = "elsewhere"

// A Group is a group other than the limited one that contains processes of the target and lacks the limit.
type Group struct {
	// Text says which processes are in it, and which limit it has.
	Text string
	// Rate is what it did per second on the device while the rows were measured; -1: unknown.
	Rate    float64
	Elapsed time.Duration
}

// Row returns the row of a group, which says that the limit doesn't cover its processes.
func (g Group) Row(key limit.Key, asked int64) Row {
	r := Row{
		Finding: judge.Finding{Key: key, Asked: float64(asked), Seen: g.Rate, Verdict: judge.NotHeld, Why: g.Text},
		Mode:    Elsewhere, App: -1, Device: g.Rate, Others: -1, Converged: -1, Elapsed: g.Elapsed,
	}
	if g.Rate >= 0 {
		r.Off = g.Rate/float64(asked) - 1
		r.Why += fmt.Sprintf(" and did %s meanwhile", r.Rate(g.Rate))
	}
	return r
}
