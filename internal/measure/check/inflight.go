package check

import (
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/size"
)

// checkInFlight looks at the I/Os in flight when the window ended. It reports those that never ended, and those that took
// longer than the whole window, which is then too short to show how often that happens.
func checkInFlight(v *view) []record.Warning {
	var inFlight, never int64
	var drained, most time.Duration
	for i := range v.t.Results {
		r := &v.t.Results[i]
		inFlight, never, drained = inFlight+r.InFlight(), never+r.AtLeast(), max(drained, r.Drained)
		for _, c := range r.Classes {
			if c.Lat.Count() > 0 {
				most = max(most, time.Duration(c.Lat.Max()))
			}
		}
	}
	e := map[string]any{"in_flight": inFlight, "at_least": never, "drained_ns": int64(drained), "elapsed_ns": int64(v.elapsed)}
	if most > 0 {
		e["most_ns"] = int64(most)
	}
	switch {
	case never > 0:
		return warning(InFlight, record.Doubt, e, "The storage hung: %s in flight at the window's end did not end before the trial's timeout. Their true latency is the one shown or more; the longest shown is %s.",
			operations(never), size.Duration(most))
	case drained > v.elapsed && v.elapsed > 0:
		return warning(InFlight, record.Note, e, "The last operation of the window ended %s after the window, which is longer than the window itself (%s). Use a longer runtime to see how often the storage is that slow.",
			size.Duration(drained), size.Duration(v.elapsed))
	}
	return nil
}
