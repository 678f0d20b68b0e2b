// Package judge decides whether a limit was held, and says so. No other package does: trials, limit verify, watch and the daemon's status
// pass it the rates that they saw, so their verdicts agree, and so do their sentences.
//
// The rule: a limit is held if the rate seen is within 5 % of it. A higher rate means that it was not held. A lower rate
// proves nothing, since something else was slower.
//
// Easily got wrong: the kernel throttles in slices of 100 ms. It lets the first slice through at once, and makes up for a late
// one, so any window may contain two slices more than its time. They are never added to the tolerance. If a rate is
// above the limit by no more than these slices, the window was too short for a verdict. In a window of
// four seconds two slices are 5 %.
package judge

import (
	"cmp"
	"math"
	"time"

	"plimsoll/internal/limit"
)

// Tolerance is the share by which a rate may be above its limit, or below it, and still be the limit's.
const Tolerance = 0.05

// Slice is the time for which the kernel grants a limit's share at once: HZ/10 (throtl_slice in block/blk-throttle.c). The CPU
// controller's period is as long (kernel/sched/core.c).
const Slice = 100 * time.Millisecond

// Carried is how much I/O, in time, a window may contain beyond its own length: a slice that the kernel lets through before it is over, and
// one that throtl_trim_slice keeps for I/O that was due and came late, as on a busy machine.
const Carried = 2 * Slice

// Shortest is the shortest window that shows a limit's rate and not its slices: ten of them.
const Shortest = 10 * Slice

// Settling is how long a limit takes to act: a slope begins after it.
const Settling = time.Second

// A Verdict is the result of judging a limit.
type Verdict string

// Verdicts.
const (
	// Held: the limit was reached and not passed.
	Held Verdict = "held"
	// NotHeld: more came through.
	NotHeld Verdict = "not held"
	// Unproved: nothing is known of the limit; a Cause says why.
	Unproved Verdict = "unproved"
	// Failed: nothing could be measured.
	Failed Verdict = "failed"
)

// A Cause says why a limit is unproved; "" for other verdicts.
type Cause string

// Causes.
const (
	// TooShort: the window is too short for a limit, or what is above the limit may be the kernel's slices.
	TooShort Cause = "too short"
	// Shared: others used the device, and how much was theirs isn't known.
	Shared Cause = "shared"
	// Slower: something else was slower than the limit.
	Slower Cause = "slower"
	// Uneven: the steady part of the window was above the limit, and all of the window wasn't.
	Uneven Cause = "uneven"
	// Late: when the I/O began isn't known, so neither is its rate.
	Late Cause = "late"
	// Missed: the I/O did not reach the device that has the limit.
	Missed Cause = "missed"
	// Changed: another program changed the limit meanwhile.
	Changed Cause = "changed"
)

// A Finding is the verdict on one limit, with its evidence.
type Finding struct {
	Key limit.Key `json:"key"`
	// Asked is the limit, and Seen the rate that is judged: bytes or I/Os a second, or CPUs. Seen is -1 where nothing was measured.
	Asked float64 `json:"asked"`
	Seen  float64 `json:"seen"`
	// Off is how far Seen is from Asked, as a share: 0.01 is 1 % above.
	Off     float64 `json:"off"`
	Verdict Verdict `json:"verdict"`
	// Cause is why it is unproved.
	Cause Cause `json:"-"`
	// Why is the cause in words, or why the limit is not held, if that is known. If the limit is held, Why says what
	// else counts against it, if that matters.
	Why string `json:"why,omitempty"`
	// At is where the rate was seen.
	At Place `json:"-"`
	// With says what else is part of Seen: "with the 5 MiB/s that the target itself used".
	With string `json:"-"`
}

// A Place is where a rate was seen; "" is Application.
type Place string

// Places.
const (
	Application Place = "application"
	Device      Place = "device"
	// ThisDevice is one of several devices that have the limit.
	ThisDevice Place = "this device"
)

// Limited reports whether the limit is what bounded the rate: it was reached, and nothing shows that it was passed.
func (f Finding) Limited() bool {
	return f.Verdict == Held || f.Cause == TooShort && f.Off >= -Tolerance
}

// Evidence is what came through under a limit. Rates are in the limit's unit: bytes or I/Os a second, or CPUs.
type Evidence struct {
	// Asked is the limit.
	Asked float64
	// Least is the rate that was certainly the limited target's, and Most the highest rate that it may have had. They
	// are equal if nothing else used the device. Most is -1 if nothing is known.
	Least, Most float64
	// Unsure is why Least and Most differ. "" means Shared.
	Unsure Cause
	// Doubt is why the rate proves nothing unless it is above the limit. "" means that there is no doubt.
	Doubt Cause
	// Reached is the rate of everything that counts against the limit, such as a file system's own writes. 0: Most.
	Reached float64
	// Arrived is the rate at the device, which says more where the limit is Missed.
	Arrived float64
	// Window is the length of the measurement.
	Window time.Duration
	// Steady says that the rate is the slope of the window after its first second (Settling). By then the slice that the
	// kernel lets through at once is over.
	Steady bool
	// InFlight is how much may have been in transit between the counters at both ends of the window, in bytes or I/Os.
	InFlight float64
	// Tolerance is a share of the limit. 0: the constant Tolerance.
	Tolerance float64
}

func (e Evidence) tolerance() float64 { return cmp.Or(e.Tolerance, Tolerance) }

// Extra returns the rate by which slices and I/O in flight may exceed the limit in the window. A slope may have one
// slice, that of I/O that came late; it shows 1.5 times if it comes in the middle.
func (e Evidence) Extra() float64 {
	switch {
	case e.Window <= 0:
		return 0
	case e.Steady:
		return 1.5 * e.Asked * Slice.Seconds() / max(e.Window-Settling, Settling).Seconds()
	}
	return (e.Asked*Carried.Seconds() + e.InFlight) / e.Window.Seconds()
}

// Above reports whether a rate is above the limit and its tolerance.
func (e Evidence) Above(rate float64) bool { return rate > e.Asked*(1+e.tolerance()) }

// Reaches reports whether a rate is at the limit or above, within the tolerance.
func (e Evidence) Reaches(rate float64) bool { return rate >= e.Asked*(1-e.tolerance()) }

// Verdict returns the verdict, and why a limit is unproved.
func (e Evidence) Verdict() (Verdict, Cause) {
	switch {
	case e.Most < 0:
		return Unproved, ""
	case e.Above(e.Least - e.Extra()):
		return NotHeld, ""
	case e.Doubt != "":
		return Unproved, e.Doubt
	case e.Above(e.Least):
		return Unproved, TooShort
	case e.Above(e.Most):
		return Unproved, cmp.Or(e.Unsure, Shared)
	case e.Window < Shortest:
		return Unproved, TooShort
	case e.Reaches(cmp.Or(e.Reached, e.Most)):
		return Held, ""
	case e.Reaches(e.Most):
		return Unproved, cmp.Or(e.Unsure, Shared)
	}
	return Unproved, Slower
}

// Of judges a limit on k by the highest rate that the limit may have let through.
func (e Evidence) Of(k limit.Key) Finding {
	f := Finding{Key: k, Asked: e.Asked, Seen: e.Most}
	if e.Most >= 0 {
		f.Off = e.Most/e.Asked - 1
	}
	f.Verdict, f.Cause = e.Verdict()
	f.Why = e.why(f)
	return f
}

// Enough returns the length of a window in which slices and I/O in flight stay within the tolerance. It is at least
// twice as long as this one.
func (e Evidence) Enough() time.Duration {
	seconds := (Carried.Seconds() + e.InFlight/e.Asked) / e.tolerance()
	return max(Shortest, time.Duration(math.Round(seconds))*time.Second, (2 * e.Window).Round(time.Second))
}

// Over returns the finding that counts for several findings on the same limit. It is one that is not held, if there is
// any; otherwise one of those with the most frequent verdict. all must not be empty.
func Over(all []Finding) Finding {
	byVerdict, byCause := map[Verdict]int{}, map[Cause]int{}
	for _, f := range all {
		if f.Verdict == NotHeld {
			return f
		}
		byVerdict[f.Verdict]++
		byCause[f.Cause]++
	}
	held := 2*byVerdict[Held] > len(all)
	best := Finding{}
	for _, f := range all {
		if held == (f.Verdict == Held) && (best.Verdict == "" || byCause[f.Cause] > byCause[best.Cause]) {
			best = f
		}
	}
	return best
}
