package row

import (
	"context"
	"fmt"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/text/size"
)

// lookFor is how long the target is looked at before anything is measured.
const lookFor = time.Second

// wholeIO is the size of a large I/O, in bytes: that of the page cache's, which is in flight at both ends of a row.
const wholeIO = 1 << 20

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
		if n := row.course(samples, forever, underLimit).mean(samples[len(samples)-1].at); n > float64(asked)*judge.Tolerance {
			used[key] = n
		}
	}
	return used
}

// judgeSum judges what the worker and the target itself did together, where the target did a part of it; false if it did none that matters.
// Direct I/O that is more than the worker's is the target's. Of a sync it may be the file system's, unless the target was busy before.
func (r *Row) judgeSum(m *measured) bool {
	if r.Mode != Direct && !m.busy || r.small() {
		return false
	}
	// All of the row's time: the target's I/Os are large and come in pieces, whose slope is no rate.
	app := r.appCourse(m.result.Samples).of(r.Elapsed, true)
	device := r.Device
	r.Device = r.course(m.samples, r.until(), byDevice).of(r.Elapsed, true)
	under := r.course(m.samples, r.until(), underLimit)
	share := under.mean(r.Elapsed)
	used := share - app
	inFlight := 2.0 * wholeIO
	if r.Key.IOPS() {
		inFlight = 2 * depth
	}
	// Without a sign of the target before, what the worker has in flight at the row's ends is none of the target's.
	if share < 0 || used <= r.Asked*judge.Tolerance || !m.busy && used*r.Elapsed.Seconds() <= inFlight {
		r.Device = device
		return false
	}
	r.App, r.Own = app, used
	r.Others = max(r.Device-share, 0)
	rate, d, pause := under.passed(r.Asked)
	e := judge.Evidence{Window: d, InFlight: inFlight}
	if d == 0 {
		// Even if nothing else moves: one of the target's I/Os more or less at the ends of the row.
		rate, e.Window, e.InFlight, e.Doubt = share, r.Elapsed, inFlight+2*pause.Seconds()*r.Asked, judge.TooShort
	}
	e.Least, e.Most = rate, rate
	if r.course(m.samples, r.until(), byOthers).mean(r.Elapsed) > r.Asked*judge.Tolerance {
		e.Least = app // Others' charges may have been for what came before, or will come later.
	}
	r.decide(m, e)
	if d == 0 && r.Cause == judge.TooShort {
		r.Why = fmt.Sprintf("too short: the target's own I/Os are so large that the limit lets one of them through in %s: verify with --time %s, or when the target is quiet", size.Duration(pause), (endings * pause * 5 / 4).Round(time.Second))
	}
	return true
}
