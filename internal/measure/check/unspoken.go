package check

import (
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/steady"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/size"
)

// tooShort counts the trials that were too short for one check of their course: they had too few samples.
type tooShort struct {
	id string
	// samples is the least number of samples that the check needs.
	samples, trials int
}

// runUnspoken reports once which checks of the course could not judge, in how many trials, and why. Otherwise a reader
// takes their silence for a finding.
func runUnspoken(trials []*record.Trial) []record.Warning {
	courses := []*tooShort{{id: Burst, samples: steady.LeastSamples}, {id: Unsteady, samples: steadySamples}}
	var least, most time.Duration
	some := false
	for _, t := range trials {
		if _, ok := workload.Steadiness(t.Results, t.Metric); ok {
			continue // Its rounds are judged.
		}
		if t.Metric.LowerIsBetter() {
			continue // A program that is timed as a whole has no rate.
		}
		c := workload.CourseOf(t.Results, "1/s")
		short := false
		for _, m := range courses {
			if c.Step < leastInterval || len(c.Rates) < m.samples {
				m.trials++
				short = true
			}
		}
		if !short {
			continue
		}
		window := longest(t.Results).Elapsed
		if !some || window < least {
			least = window
		}
		most, some = max(most, window), true
	}
	var parts []string
	e := map[string]any{"of": len(trials), "least_ns": int64(least), "most_ns": int64(most)}
	for _, m := range courses {
		if m.trials > 0 {
			parts = append(parts, fmt.Sprintf("%s in %d of %d trials", m.id, m.trials, len(trials)))
			e[m.id] = m.trials
		}
	}
	if parts == nil {
		return nil
	}
	affected := strings.Join(parts, " and ")
	if courses[0].trials == courses[1].trials {
		affected = fmt.Sprintf("%s and %s in %d of %d trials", courses[0].id, courses[1].id, courses[0].trials, len(trials))
	}
	windows := size.Duration(least)
	if to := size.Duration(most); to != windows {
		windows += " to " + to
	}
	return warning(Unspoken, record.Note, e,
		"Plimsoll could not judge whether the rate stayed steady inside trials (%s): that takes several intervals of %s or more, and the windows last %s. Use a runtime of 10 s to see it.",
		affected, size.Duration(leastInterval), windows)
}
