package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

// lateShare is the share of arrivals that may start late before the rate counts as not kept. More than one in a thousand
// moves p99.9.
const lateShare = 0.001

// checkRate looks at jobs with a rate (rate_iops, rate), which are open loops. I/Os that started late, or never, mean that
// the job did not offer the rate it was asked for.
func checkRate(v *view) []record.Warning {
	a, ok := workload.ArrivalsOf(v.t.Spec.Job, v.t.Results)
	if v.t.Spec.Kind == workload.Stage {
		a, ok = workload.StageArrivals(v.t.Results)
	}
	if !ok || a.Due == 0 || !(float64(a.Late+a.Missed) > lateShare*float64(a.Due)) {
		return nil
	}
	e := map[string]any{"arrivals": a.Due, "late": a.Late, "missed": a.Missed, "max_late": a.MaxLate, "offered": a.Offered, "achieved": a.Achieved}
	text := fmt.Sprintf("The job did not keep its rate: of %d I/Os that were due, %s", a.Due, lateness(a))
	// Poisson arrivals may exceed their mean, and late I/Os may be made up for: the totals contradict the doubt then. If
	// all were started, the missing ones are those in flight at the end, and clients that ran at different times.
	if offered, done := rate(a.Offered, "1/s"), rate(a.Achieved, "1/s"); a.Missed > 0 && a.Achieved < a.Offered && done != offered {
		return warning(Rate, record.Doubt, e, "%s. The job offered %s, but only %s were done: the place or the load generator can't carry this rate.", text, offered, done)
	}
	return warning(Rate, record.Doubt, e, "%s. The place or the load generator was too slow for them.", text)
}

// lateness reports the I/Os that were not started in time.
func lateness(a workload.Arrivals) string {
	var parts []string
	if a.Late > 0 {
		parts = append(parts, fmt.Sprintf("%d started late (the worst by %v)", a.Late, a.MaxLate.Round(time.Microsecond)))
	}
	if a.Missed > 0 {
		parts = append(parts, fmt.Sprintf("%d never did", a.Missed))
	}
	if a.Late == 0 {
		return fmt.Sprintf("%d were never started", a.Missed)
	}
	return strings.Join(parts, " and ")
}

// checkEngineNotes passes on the I/O engine's own notes. Without registered buffers, say, it is slower than in a cell that
// has them.
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
