package verify

import (
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/stat"

	"plimsoll/internal/size"
	"plimsoll/load"
)

// A Verdict is what was found of one limit in one mode.
type Verdict string

// The verdicts. Each is said in words by Row.Words.
const (
	// Held: what was seen reached the limit and did not pass it.
	Held Verdict = "held"
	// NotHeld: more was seen than the limit and the tolerance allow.
	NotHeld Verdict = "not held"
	// Unproved: something else kept the rate below the limit, so that nothing is known of it.
	Unproved Verdict = "unproved"
	// Failed: the row could not be measured.
	Failed Verdict = "failed"
)

// reached is the share of a limit from which on it counts as what bounded the rate.
const reached = 0.9

// A Row is one limit in one mode. Rates are in bytes or I/Os per second, as the key says.
type Row struct {
	Key   Key   `json:"key"`
	Mode  Mode  `json:"mode"`
	Asked int64 `json:"asked"`
	// BS is the size of the application's I/Os in bytes.
	BS int64 `json:"bs"`
	// App is the rate that the application saw, Device what reached the device that is limited,
	// whoever sent it; -1: unknown. Both leave the first second out, where the row lasted longer and has a steady part.
	App    float64 `json:"app"`
	Device float64 `json:"device"`
	// Seen is the one of the two that the verdict is about, and Error its distance from the limit as a
	// share of it.
	Seen  float64 `json:"seen"`
	Error string  `json:"error,omitempty"`
	Off   float64 `json:"off"`
	// Overshoot is by what share of the limit the first second was above it, 0 if it was not.
	Overshoot float64 `json:"overshoot"`
	// Converged is after which time the rate stayed within a tenth of the limit, -1 if it never did.
	Converged time.Duration `json:"converged"`
	// Elapsed is how long the row was measured.
	Elapsed time.Duration `json:"elapsed"`
	Verdict Verdict       `json:"verdict"`
	// Why explains a verdict that is neither held nor not held.
	Why string `json:"why,omitempty"`
}

// Words is the verdict as a sentence with its evidence.
func (r Row) Words() string {
	switch r.Verdict {
	case Held:
		s := fmt.Sprintf("held: asked %s, saw %s (%+.1f %%)", r.Rate(float64(r.Asked)), r.Rate(r.Seen), r.Off*100)
		if r.Seen < float64(r.Asked)*reached {
			s += fmt.Sprintf("; with what the file system adds the device saw %s", r.Rate(r.Device))
		}
		return s
	case NotHeld:
		return fmt.Sprintf("limit NOT held: asked %s, saw %s (%.3g times)", r.Rate(float64(r.Asked)), r.Rate(r.Seen), r.Seen/float64(r.Asked))
	case Unproved:
		return "unproved: " + r.Why
	}
	return "failed: " + r.Error
}

// Rate writes a rate in the unit of the row's key.
func (r Row) Rate(v float64) string {
	switch {
	case v < 0:
		return "unknown"
	case r.Key.IOPS():
		return size.Count(v) + " IOPS"
	}
	return size.Rate(v)
}

// atDevice reports whether the device's rate is what a mode is judged by: what a buffered write takes
// for the application says nothing of the limit.
func (r Row) atDevice() bool { return r.Mode == Buffered }

// judge fills r from what was measured.
func (r *Row) judge(m *measured, tolerance float64) {
	r.Elapsed = m.result.Elapsed
	app, dev := r.appCourse(m.result.Samples), r.deviceCourse(m.course, m.result.Elapsed)
	late := r.Mode == Buffered && r.Key.Writes()
	// A sync at the end belongs to all that was written before it: such a row has no steady part.
	whole := r.Mode == BufferedSync
	r.App, r.Device = app.rate(r.Elapsed, whole), dev.rate(r.Elapsed, whole)
	if late {
		// The flusher sends what is in the cache in pieces of many MiB, and a limiter makes it wait before each: a
		// window may hold none. What counts is all that came, up to the last of it.
		dev = r.deviceCourse(m.course, forever)
		r.Device, r.Elapsed = dev.untilLast()
	}
	if whole && m.device != nil {
		r.Device = r.amount(m.device.Reads, m.device.Writes, m.device.ReadBytes, m.device.WrittenBytes) / r.Elapsed.Seconds()
	}
	judged := app
	r.Seen = r.App
	switch {
	case r.atDevice():
		judged, r.Seen = dev, r.Device
	case r.Mode == BufferedSync && r.Key.IOPS():
		// Small writes leave the cache as large ones, and those are what is limited.
		r.Seen = r.Device
	}
	// What a file system adds to a write counts against the limit as well, and is not seen by the application.
	most := r.Seen
	if r.Mode != Buffered {
		most = max(most, r.Device)
	}
	asked := float64(r.Asked)
	r.Off = r.Seen/asked - 1
	r.Converged = -1
	if !whole && !late {
		r.Overshoot = max(judged.first(time.Second)/asked-1, 0)
		r.Converged = judged.converged(asked, 0.1)
	}
	switch {
	case r.Seen < 0:
		r.Verdict, r.Why = Unproved, "the device's counters could not be read"
	case r.Seen > asked*(1+tolerance):
		r.Verdict = NotHeld
	case r.Elapsed < LeastTime/2 && !whole:
		r.Verdict, r.Why = Unproved, fmt.Sprintf("it took only %s: the scratch file is too small for this limit", size.Duration(r.Elapsed))
	case most < asked*reached:
		r.Verdict, r.Why = Unproved, fmt.Sprintf("something else is slower than the limit of %s: no more than %s came through in this mode", r.Rate(asked), r.Rate(r.Seen))
	case r.elsewhere():
		r.Verdict, r.Why = Unproved, fmt.Sprintf("of the %s that the application saw no more than %s reached the device: most went elsewhere, or the device counts nothing", r.Rate(r.App), r.Rate(r.Device))
	default:
		r.Verdict = Held
	}
}

// arrived is the share of what the application does past the page cache, or syncs, that at least is seen at the device
// that it is done on. One of several that a file system spreads its data over sees its part.
const arrived = 0.1

// elsewhere reports whether the device saw almost nothing of what the application did: then its limit was not what
// bounded that.
func (r Row) elsewhere() bool {
	return r.Mode != Buffered && r.Device >= 0 && r.Device < r.App*arrived
}

// amount picks what the key limits.
func (r Row) amount(reads, writes, readBytes, writtenBytes int64) float64 {
	switch r.Key {
	case ReadBPS:
		return float64(readBytes)
	case WriteBPS:
		return float64(writtenBytes)
	case ReadIOPS:
		return float64(reads)
	}
	return float64(writes)
}

// A course is how much was done by which time.
type course []step

type step struct {
	at    time.Duration
	total float64
}

// appCourse is what the application did. A row's job either reads or writes.
func (r Row) appCourse(samples []load.Sample) course {
	c := course{{}}
	total := 0.0
	for _, s := range samples {
		if r.Key.IOPS() {
			total += float64(s.Ops)
		} else {
			total += float64(s.Bytes)
		}
		c = append(c, step{s.At, total})
	}
	return c
}

// deviceCourse is what the device did until the window's end.
func (r Row) deviceCourse(points []point, end time.Duration) course {
	var c course
	for _, p := range points {
		if p.at > end+sampleEvery && len(c) > 1 {
			break
		}
		c = append(c, step{p.at, r.amount(p.reads, p.writes, p.readBytes, p.writtenBytes)})
	}
	return c
}

// by is the total at a time, interpolated.
func (c course) by(at time.Duration) float64 {
	for i, s := range c {
		if s.at < at {
			continue
		}
		if i == 0 || s.at == at {
			return s.total
		}
		p := c[i-1]
		return p.total + (s.total-p.total)*float64(at-p.at)/float64(s.at-p.at)
	}
	return c[len(c)-1].total
}

// rate is what was done a second; -1 without a course. Unless whole asks for all of it, it is that of the
// steady part, after the first second, where there is one.
//
// A limiter lets through what is due in slices, so that the total at any one time may be a whole slice off. The
// slope of the line through all of the totals is not.
func (c course) rate(end time.Duration, whole bool) float64 {
	if len(c) < 2 || end <= 0 {
		return -1
	}
	var x, y []float64
	for _, s := range c {
		if s.at >= time.Second && s.at <= end {
			x, y = append(x, s.at.Seconds()), append(y, s.total)
		}
	}
	if whole || end < 2*time.Second || len(x) < 3 {
		return (c.by(end) - c.by(0)) / end.Seconds()
	}
	_, slope := stat.LinearRegression(x, y, nil, false)
	return slope
}

// forever is the end of a course that is taken whole.
const forever = time.Duration(math.MaxInt64 - int64(sampleEvery))

// untilLast is what was done a second up to the last of it, and when that was; 0 if nothing was, -1 without a course.
func (c course) untilLast() (rate float64, at time.Duration) {
	if len(c) < 2 {
		return -1, 0
	}
	for i := len(c) - 1; i > 0; i-- {
		if c[i].total > c[i-1].total {
			at := c[i].at - c[0].at
			return (c[i].total - c[0].total) / at.Seconds(), at
		}
	}
	return 0, 0
}

// first is the rate of the first stretch of a course.
func (c course) first(d time.Duration) float64 {
	if len(c) < 2 {
		return 0
	}
	return (c.by(d) - c.by(0)) / d.Seconds()
}

// converged is the earliest time from which on each second's rate is within share of asked; -1 if there is
// none that leaves a second to say so.
func (c course) converged(asked, share float64) time.Duration {
	if len(c) < 2 {
		return -1
	}
	at := time.Duration(-1)
	for t := time.Duration(0); t+time.Second <= c[len(c)-1].at; t += sampleEvery {
		off := math.Abs((c.by(t+time.Second)-c.by(t))/asked - 1)
		switch {
		case off > share:
			at = -1
		case at < 0:
			at = t
		}
	}
	return at
}
