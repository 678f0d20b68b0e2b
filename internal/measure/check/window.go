package check

import (
	"strings"
	"time"

	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/size"
)

const (
	// clockShare and clockFloor bound how far the wall clock and the monotonic clock may disagree. NTP slews by at most
	// 0.05 %, so 1 % is a jump. A busy machine may put 10 ms between reading the two.
	clockShare = 0.01
	clockFloor = 10 * time.Millisecond

	// shortWindow is the period of the CPU controller: the figure of a shorter window depends on where in the period it
	// fell.
	shortWindow = 100 * time.Millisecond
	// tailOps is the least number of I/Os for a p99: ten beyond it.
	tailOps = 1000
	// fewOps is the least number of I/Os for a rate: the error of a count of 30 is about 1/sqrt(30), 18 %.
	fewOps = 30

	// skewShare is the share of the window that may pass between the first and the last client's start, or their ends.
	skewShare = 0.1
)

// checkWindow reports whether enough was measured.
func checkWindow(v *view) []record.Warning {
	ops := ops(v.t.Results)
	e := map[string]any{"ops": ops, "elapsed_ns": int64(v.elapsed)}
	limits := v.where.Limits
	switch {
	case v.t.Spec.FilesOnly():
		return nil // There was nothing to measure.
	case v.elapsed <= 0 || ops == 0:
		return warning(Window, record.Doubt, e, "No operation ended in the measured window (%s).", size.Duration(v.elapsed))
	case v.t.Spec.Kind == workload.Command:
		return nil // It is timed as a whole; no operations are counted.
	case ops < fewOps:
		return warning(Window, record.Doubt, e, "The figure rests on %s: chance alone moves it by more than 18 %%. Measure longer, or more operations.", operations(ops))
	case v.elapsed < judge.Shortest && (strings.Contains(limits, "bps") || strings.Contains(limits, "iops")):
		return warning(Window, record.Note, e, "The window of %s is short for a limited cell: the kernel throttles in slices of 100 ms and lets a burst through first.", size.Duration(v.elapsed))
	case v.elapsed < shortWindow:
		return warning(Window, record.Note, e, "The window was only %s long: a runtime of at least 100 ms depends less on chance.", size.Duration(v.elapsed))
	case ops < tailOps:
		return warning(Window, record.Note, e, "A p99 would rest on only the slowest %d of %d operations.", max(1, ops/100), ops)
	}
	return nil
}

// checkClock reports whether the clock was set or the machine slept.
func checkClock(v *view) []record.Warning {
	for i := range v.t.Results {
		r := &v.t.Results[i]
		if r.WallElapsed == 0 {
			continue // not known
		}
		diff := (r.WallElapsed - r.Elapsed).Abs()
		if diff > clockFloor && float64(diff) > clockShare*float64(r.Elapsed) {
			return warning(Clock, record.Doubt, map[string]any{"elapsed_ns": int64(r.Elapsed), "wall_ns": int64(r.WallElapsed)},
				"The window took %s by the monotonic clock and %s by the wall clock: the clock was set, or the machine slept.", size.Duration(r.Elapsed), size.Duration(r.WallElapsed))
		}
	}
	return nil
}

// checkSkew reports whether the clients ran at the same time.
func checkSkew(v *view) []record.Warning {
	skew := v.t.StartSkew
	if len(v.t.Results) < 2 || v.elapsed <= 0 {
		return nil
	}
	if float64(skew) <= skewShare*float64(v.elapsed) {
		return v.endSkew()
	}
	return warning(Skew, record.Doubt, map[string]any{"skew_ns": int64(skew), "elapsed_ns": int64(v.elapsed)},
		"The last of %d clients started %s after the first, in a window of %s: for that time they did not all compete.", len(v.t.Results), size.Duration(skew), size.Duration(v.elapsed))
}

// endSkew reports whether the last client ran alone for a while: clients with a fixed amount of work end at different
// times.
func (v *view) endSkew() []record.Warning {
	span, apart, ok := workload.Span(v.t.Results)
	if !ok || float64(apart) <= skewShare*float64(span) {
		return nil
	}
	return warning(Skew, record.Doubt, map[string]any{"apart_ns": int64(apart), "span_ns": int64(span)},
		"The first of %d clients was done %s before the last, in a window of %s: for that time they did not all compete.", len(v.t.Results), size.Duration(apart), size.Duration(span))
}
