package check

import (
	"slices"
	"time"

	"plimsoll/internal/record"
	"plimsoll/load"
)

// lateShare is the share of a job's arrivals that may start late before the rate
// counts as not held. More than one in a thousand moves p99.9.
const lateShare = 0.001

// checkRate looks at jobs with a rate, which are open loops: I/Os that were started
// after their time, or never, mean that the offered rate was not the one asked for.
func checkRate(v *view) []record.Warning {
	var done, late, missed int64
	var worst time.Duration
	add := func(j load.Job, ops, l, m int64, latest time.Duration) {
		if j.RateIOPS > 0 || j.Rate > 0 {
			done, late, missed, worst = done+ops, late+l, missed+m, max(worst, latest)
		}
	}
	for i := range v.t.Results {
		r := &v.t.Results[i]
		add(v.t.Spec.Job, r.Ops(), r.Late, r.Missed, r.MaxLate)
		// The lines of other tools: each job has its own rate, or none.
		for k := range r.Stage {
			s := &r.Stage[k]
			add(s.Job, s.Ops(), s.Late, s.Missed, s.MaxLate)
		}
	}
	arrivals := done + missed
	if arrivals == 0 || !(float64(late+missed) > lateShare*float64(arrivals)) {
		return nil
	}
	e := map[string]any{"arrivals": arrivals, "late": late, "missed": missed, "max_late": worst}
	return warning(Rate, record.Doubt, e,
		"The rate was not held: of %d I/Os that were due %d started late (the worst by %v) and %d never did. The place, or the generator, can't carry it.",
		arrivals, late, worst.Round(time.Microsecond), missed)
}

// checkEngineNotes passes on what the I/O engine said of itself: without registered
// buffers, say, it is slower than in a cell that has them.
func checkEngineNotes(v *view) []record.Warning {
	var notes []string
	for i := range v.t.Results {
		for _, n := range v.t.Results[i].Notes {
			if !slices.Contains(notes, n) {
				notes = append(notes, n)
			}
		}
	}
	var out []record.Warning
	for _, n := range notes {
		out = append(out, warning(EngineNote, record.Note, map[string]any{"note": n}, "The I/O engine: %s.", n)...)
	}
	return out
}
