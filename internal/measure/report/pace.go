package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/size"
)

// OpenLoop says of a cell whose I/Os come by a schedule (rate_iops, rate) what was offered and what came of
// it, over all trials. The cell's Latency has two entries for each class then: response times, from when
// an I/O was due, and under "CLASS (service)" service times, from when it was started.
type OpenLoop struct {
	// Offered and Achieved are I/Os a second of all clients; Achieved is the median over the trials.
	Offered  Num `json:"offered"`
	Achieved Num `json:"achieved"`
	// Due is how many I/Os there should have been. Late of them were started more than 1 ms after their time, at
	// worst by MaxLate, and Missed never.
	Due     int64 `json:"due"`
	Late    int64 `json:"late"`
	Missed  int64 `json:"missed"`
	MaxLate Num   `json:"max_late_ns"`
}

// Steady says of a cell with a steady state how many of its trials had one.
type Steady struct {
	// Round is the length of a round in seconds.
	Round float64 `json:"round_s"`
	// Reached of Of trials had a steady state; After is the median time in seconds to its beginning.
	Reached int `json:"reached"`
	Of      int `json:"of"`
	After   Num `json:"after_s"`
}

// TrialSteady is the course of a trial with a steady state.
type TrialSteady struct {
	Steady bool `json:"steady"`
	// From and To are the rounds that count, [From, To), After is when the first of them began, in seconds, and Round the
	// length of one that was asked for.
	From  int     `json:"from"`
	To    int     `json:"to"`
	After float64 `json:"after_s"`
	Round float64 `json:"round_s"`
	// Rates is the metric, round by round, of all rounds.
	Rates []Num `json:"rates"`
}

// openLoopOf sums a cell's trials up; nil for a closed loop.
func openLoopOf(trials []*record.Trial) *OpenLoop {
	var o *OpenLoop
	var achieved []float64
	for _, t := range trials {
		a, ok := workload.ArrivalsOf(t.Spec.Job, t.Results)
		if !ok || !measured(t) || len(t.Results) == 0 {
			continue
		}
		if o == nil {
			o = &OpenLoop{Offered: Num(a.Offered)}
		}
		achieved = append(achieved, a.Achieved)
		o.Due, o.Late, o.Missed = o.Due+a.Due, o.Late+a.Late, o.Missed+a.Missed
		o.MaxLate = max(o.MaxLate, Num(a.MaxLate))
	}
	if o != nil {
		o.Achieved, _, _, _ = interval(achieved)
	}
	return o
}

// steadyOf sums a cell's trials up; nil where no steady state was asked for.
func steadyOf(trials []*record.Trial) *Steady {
	var s *Steady
	var after []float64
	for _, t := range trials {
		one := trialSteady(t)
		if one == nil {
			continue
		}
		if s == nil {
			s = &Steady{Round: one.Round}
		}
		s.Of++
		if one.Steady {
			s.Reached++
			after = append(after, one.After)
		}
	}
	if s != nil {
		s.After, _, _, _ = interval(after)
	}
	return s
}

// trialSteady is the course of one trial, nil if it has no steady state.
func trialSteady(t *record.Trial) *TrialSteady {
	f, ok := workload.Steadiness(t.Results, metricOf(t))
	if !ok || !measured(t) {
		return nil
	}
	s := &TrialSteady{Steady: f.Steady, From: f.From, To: f.To, After: f.After.Seconds(), Round: t.Spec.Steady.Round.Seconds()}
	for _, r := range workload.RoundsOf(t.Results, metricOf(t).Unit).Rates {
		s.Rates = append(s.Rates, Num(r))
	}
	return s
}

// paceText are the sentences on a cell's schedule and its steady state, which stand below the table.
func (c *Cell) paceText(class string) []string {
	var out []string
	if o := c.Open; o != nil {
		late := fmt.Sprintf("all %s were started in time", commas(fmt.Sprint(o.Due)))
		if o.Late+o.Missed > 0 {
			late = fmt.Sprintf("of %s due, %s started late, at worst by %s, and %s never", commas(fmt.Sprint(o.Due)), commas(fmt.Sprint(o.Late)), durationText(o.MaxLate), commas(fmt.Sprint(o.Missed)))
		}
		text := fmt.Sprintf("%s: open loop, %s I/Os per second offered, %s achieved; %s", c.Label, perSecond(o.Offered), perSecond(o.Achieved), late)
		if response, service := c.of(class), c.of(class+" (service)"); response != nil && service != nil && response.P99.Known() {
			text += fmt.Sprintf("; p99 of the response time %s, of the service time %s", durationText(response.P99), durationText(service.P99))
		}
		out = append(out, text)
	}
	if s := c.Steady; s != nil {
		rounds := size.Duration(time.Duration(s.Round * float64(time.Second)))
		switch s.Reached {
		case 0:
			out = append(out, fmt.Sprintf("%s: never steady, %s, in rounds of %s; the figures are of the last ones", c.Label, inTrials(s.Of, s.Of), rounds))
		default:
			text := fmt.Sprintf("%s: steady %s, after %s, in rounds of %s", c.Label, inTrials(s.Reached, s.Of), size.Duration(time.Duration(float64(s.After)*float64(time.Second))), rounds)
			if s.Reached < s.Of {
				text += "; never in the others, whose figures are of their last rounds"
			}
			out = append(out, text)
		}
	}
	return out
}

// perSecond prints a rate: "1,000", "0.5".
func perSecond(n Num) string {
	if n < 10 {
		return digits(float64(n), 2)
	}
	return commas(fmt.Sprintf("%.0f", float64(n)))
}

// openLoop reports whether the workload's I/Os come by a schedule.
func (w *Workload) openLoop() bool {
	return slices.ContainsFunc(w.Cells, func(c Cell) bool { return c.Open != nil })
}

// LatencyName is what the latencies of the workload's tables and pictures are: those of an open loop count from when an
// I/O was due.
func (w *Workload) LatencyName() string {
	if w.openLoop() {
		return strings.TrimSpace(w.Class + " response time")
	}
	return strings.TrimSpace(w.Class + " latency")
}
