package report

import (
	"fmt"

	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/size"
)

// An Outcome is what the exit status of a run depends on.
type Outcome struct {
	// Failed counts trials, Limits the limits that were tried, and NotHeld those of them that were not held.
	Failed, Limits, NotHeld int
}

// Outcome counts what went wrong.
func (r *Report) Outcome() Outcome {
	o := Outcome{Limits: len(r.Limits)}
	for _, t := range r.Trials {
		if t.Status == record.Failed {
			o.Failed++
		}
	}
	for _, l := range r.Limits {
		if l.Verdict == judge.NotHeld {
			o.NotHeld++
		}
	}
	return o
}

// String says what went wrong, "" if nothing did. A limit that was not held goes first: it is a finding of the run, and failed trials are
// none.
func (o Outcome) String() string {
	failed := size.Plural(o.Failed, "trial") + " failed; the report says why"
	held := fmt.Sprintf("NOT held: %d of %s", o.NotHeld, size.Plural(o.Limits, "limit"))
	switch {
	case o.NotHeld > 0 && o.Failed > 0:
		return held + "; and " + failed
	case o.NotHeld > 0:
		return held
	case o.Failed > 0:
		return failed
	}
	return ""
}
