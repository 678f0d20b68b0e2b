// Package judge decides whether a limit was held. No other package does: plans, limit verify, watch and the
// daemon's status pass it the rates that they saw, so their verdicts agree.
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
	"fmt"
	"math"
	"time"

	"plimsoll/internal/text/size"
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

// String is the verdict in words: "limit NOT held".
func (v Verdict) String() string {
	if v == NotHeld {
		return "limit NOT held"
	}
	return string(v)
}

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
)

// Seen is what came through under a limit. Rates are in the limit's unit: bytes or I/Os a second, or CPUs.
type Seen struct {
	// Asked is the limit.
	Asked float64
	// Least is the rate that was surely the limited target's, and Most the highest that it may have been. They are equal if nothing else used
	// the device.
	Least, Most float64
	// Reached is the rate of all that counts against the limit, such as a file system's own writes. 0: Most.
	Reached float64
	// Window is how long was measured.
	Window time.Duration
	// Steady says that the rate is a slope, measured where the limit had begun to act: slices don't show in it.
	Steady bool
	// InFlight is how much may lie between the counters at both ends of the window, in bytes or I/Os.
	InFlight float64
	// Tolerance is a share of the limit; 0: Tolerance.
	Tolerance float64
}

func (s Seen) tolerance() float64 {
	if s.Tolerance > 0 {
		return s.Tolerance
	}
	return Tolerance
}

// Extra is the rate by which slices and what is in flight may exceed the limit in the window.
func (s Seen) Extra() float64 {
	if s.Steady || s.Window <= 0 {
		return 0
	}
	return (s.Asked*Carried.Seconds() + s.InFlight) / s.Window.Seconds()
}

// Above reports whether a rate is above the limit and its tolerance.
func (s Seen) Above(rate float64) bool { return rate > s.Asked*(1+s.tolerance()) }

// Reaches reports whether a rate is at the limit or above, within the tolerance.
func (s Seen) Reaches(rate float64) bool { return rate >= s.Asked*(1-s.tolerance()) }

// Judge returns the verdict, and why a limit is unproved.
func (s Seen) Judge() (Verdict, Cause) {
	reached := s.Reached
	if reached == 0 {
		reached = s.Most
	}
	switch {
	case s.Above(s.Least - s.Extra()):
		return NotHeld, ""
	case s.Above(s.Least):
		return Unproved, TooShort
	case s.Above(s.Most):
		return Unproved, Shared
	case s.Window < Shortest:
		return Unproved, TooShort
	case s.Reaches(reached):
		return Held, ""
	case s.Reaches(s.Most):
		return Unproved, Shared
	}
	return Unproved, Slower
}

// Enough is the length of a window in which slices and what is in flight are no more than the tolerance.
func (s Seen) Enough() time.Duration {
	seconds := (Carried.Seconds() + s.InFlight/s.Asked) / s.tolerance()
	return max(Shortest, time.Duration(math.Round(seconds))*time.Second)
}

// Short says in words why the window is too short: "too short: in 1 s up to 20 % more than the limit can come through".
func (s Seen) Short() string {
	return fmt.Sprintf("too short: in %s up to %.0f %% more than the limit can come through", size.Duration(s.Window), 100*s.Extra()/s.Asked)
}
