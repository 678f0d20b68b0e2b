package check

import (
	"fmt"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/limitverdict"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

// checkLimit reports whether the cell's rate exceeded its limit.
func checkLimit(v *view) []record.Warning {
	var out []record.Warning
	passed := false
	for _, r := range limitverdict.Of(v.t) {
		if r.Verdict != judge.NotHeld || r.Key == limit.CPUs {
			continue
		}
		passed = true
		text := fmt.Sprintf("%s: %s.", r.Key, r)
		if e := v.escape(); e != nil && r.At == judge.Device {
			text += " It can't hold here: " + e.Why + "."
		}
		out = append(out, warning(Limit, record.Doubt, evidence(r), "%s", text)...)
	}
	if !passed {
		out = append(out, v.leak()...)
	}
	return out
}

// escape is how buffered writes of the trial escape its limits; nil if they don't.
func (v *view) escape() *limit.Escape {
	if len(v.t.Where) == 0 || v.t.Spec.Kind == workload.WAL || limitverdict.AtOnce(v.t, true) {
		return nil
	}
	e := v.t.Where[0].Held.Escape(explain.Buffered)
	if e == nil || e.Closed || e.Holds == string(explain.Late) {
		return nil
	}
	return e
}

// leak reports a limit that does not hold the job's writes, where the window did not show it because the kernel wrote them
// out later.
func (v *view) leak() []record.Warning {
	e := v.escape()
	if e == nil || v.written.app == 0 {
		return nil
	}
	for _, k := range []limit.Key{limit.WriteBPS, limit.WriteIOPS} {
		if asked := v.t.Where[0].Held.Of(k); asked > 0 {
			return warning(Limit, record.Doubt, map[string]any{"key": string(k), "asked": asked, "mode": e.Mode},
				"%s can't hold here: %s. The figure does not show the limit.", k, e.Why)
		}
	}
	return nil
}

// checkLimited reports that the limit, and not the place, determined the figure.
func checkLimited(v *view) []record.Warning {
	for _, r := range limitverdict.Of(v.t) {
		if !r.Limited() || r.Key == limit.CPUs {
			continue
		}
		return warning(Limited, record.Note, evidence(r), "The figure shows the limit, not the place: %s, %s.", r.Key, r)
	}
	return nil
}

// evidence is the row in machine-readable form.
func evidence(r judge.Finding) map[string]any {
	return map[string]any{"key": string(r.Key), "asked": r.Asked, "seen": r.Seen, "at": r.At, "error": r.Off}
}
