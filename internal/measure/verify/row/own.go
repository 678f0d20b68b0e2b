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
	points := f.end()
	used := map[limit.Key]float64{}
	for key, asked := range r.Asked {
		row := Row{Finding: judge.Finding{Key: key}}
		d := points[len(points)-1].at
		row.Device = row.deviceCourse(points, forever).of(d, true)
		if share := row.share(points, forever, d, true); share > float64(asked)*judge.Tolerance {
			used[key] = share
		}
	}
	return used
}

// share is the rate of what reached the device and counts against the group's limit: the worker's and what else the target does there.
// -1: unknown.
func (r Row) share(points []point, until, elapsed time.Duration, whole bool) float64 {
	c := r.shareCourse(points, until)
	if c == nil {
		return -1
	}
	return max(c.of(elapsed, whole), 0)
}

// shareCourse is what reached the device and counts against the group's limit; nil: unknown. In version 1 a charge comes before the wait, so
// that it is what the device did but for what was charged to others.
func (r Row) shareCourse(points []point, until time.Duration) course {
	if len(points) == 0 || points[0].charge == nil {
		return nil
	}
	if points[0].charge.nobody == nil {
		return r.chargeCourse(points, until, false)
	}
	device, others := r.deviceCourse(points, until), r.othersCourse(points, until)
	if others == nil {
		return nil
	}
	kin := r.kinCourse(points, until)
	for i := range device {
		device[i].total -= others[i].total + kin[i].total
	}
	return device
}

// othersRate is the rate of what version 1 charged to other groups; -1: unknown, 0 in version 2.
func (r Row) othersRate(points []point, until, elapsed time.Duration, whole bool) float64 {
	if len(points) > 0 && points[0].charge != nil && points[0].charge.nobody == nil {
		return 0
	}
	c := r.othersCourse(points, until)
	if c == nil {
		return -1
	}
	return max(c.of(elapsed, whole), 0)
}

// othersCourse is what version 1 charged to other groups; nil: unknown.
func (r Row) othersCourse(points []point, until time.Duration) course {
	var c course
	for _, p := range points {
		if p.at > until+sampleEvery && len(c) > 1 {
			break
		}
		if p.charge == nil || p.charge.others == nil {
			return nil
		}
		c = append(c, step{p.at, r.amount(*p.charge.others)})
	}
	return c
}

// judgeSum judges what the worker and the target itself did together, where the target did a part of it; false if it did none that matters.
// Direct I/O that is more than the worker's is the target's. Of a sync it may be the file system's, unless the target was busy before.
func (r *Row) judgeSum(m *measured, whole bool, tolerance float64) bool {
	if r.Mode != Direct && !m.busy || r.small() {
		return false
	}
	// All of the row's time: the target's I/Os are large and come in pieces, whose slope is no rate.
	app := r.appCourse(m.result.Samples).of(r.Elapsed, true)
	device := r.Device
	r.Device = r.deviceCourse(m.course, r.until(whole)).of(r.Elapsed, true)
	share := r.share(m.course, r.until(whole), r.Elapsed, true)
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
	course := r.shareCourse(m.course, r.until(whole))
	rate, d, pause := course.passed(r.Asked)
	e := judge.Evidence{Window: d, InFlight: inFlight}
	if d == 0 {
		// Even if nothing else moves: one of the target's I/Os more or less at the ends of the row.
		rate, e.Window, e.InFlight, e.Doubt = share, r.Elapsed, inFlight+2*pause.Seconds()*r.Asked, judge.TooShort
	}
	e.Least, e.Most = rate, rate
	if r.othersRate(m.course, r.until(whole), r.Elapsed, true) > r.Asked*judge.Tolerance {
		e.Least = app // Others' charges may have been for what came before, or will come later.
	}
	r.decide(e, tolerance)
	if d == 0 && r.Cause == judge.TooShort {
		r.Why = fmt.Sprintf("too short: the target's own I/Os are so large that the limit lets one of them through in %s: verify with --time %s, or when the target is quiet", size.Duration(pause), (endings * pause * 5 / 4).Round(time.Second))
	}
	return true
}
