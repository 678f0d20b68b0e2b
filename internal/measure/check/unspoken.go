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

// A mute is a check of the course of a trial that had too few samples to judge, and in how many trials.
type mute struct {
	id string
	// samples is the least number of samples that it needs.
	samples, trials int
}

// runUnspoken reports once which checks of the course could not judge, in how many trials, and why. Otherwise a reader
// takes their silence for a finding.
func runUnspoken(trials []*record.Trial) []record.Warning {
	mutes := []*mute{{id: Burst, samples: steady.LeastSamples}, {id: Unsteady, samples: steadySamples}}
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
		for _, m := range mutes {
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
	for _, m := range mutes {
		if m.trials > 0 {
			parts = append(parts, fmt.Sprintf("%s in %d of %d trials", m.id, m.trials, len(trials)))
			e[m.id] = m.trials
		}
	}
	if parts == nil {
		return nil
	}
	told := strings.Join(parts, " and ")
	if mutes[0].trials == mutes[1].trials {
		told = fmt.Sprintf("%s and %s in %d of %d trials", mutes[0].id, mutes[1].id, mutes[0].trials, len(trials))
	}
	windows := size.Duration(least)
	if to := size.Duration(most); to != windows {
		windows += " to " + to
	}
	return warning(Unspoken, record.Note, e,
		"Plimsoll could not judge whether the rate stayed steady inside trials (%s): that takes several intervals of %s or more, and the windows last %s. Use a runtime of 10 s to see it.",
		told, size.Duration(leastInterval), windows)
}
