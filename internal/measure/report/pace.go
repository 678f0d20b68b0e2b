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

// OpenLoop compares offered and achieved rates of a cell whose I/Os follow a schedule (rate_iops, rate), over all trials.
// The cell's Latency then has two entries for each class: response times, from when an I/O was due, and under "CLASS
// (service)" service times, from when it was started.
type OpenLoop struct {
	// Offered and Achieved are I/Os a second of all clients; Achieved is the median over the trials.
	Offered  Num `json:"offered"`
	Achieved Num `json:"achieved"`
	// Due is how many I/Os should have been started. Late of them were started more than 1 ms after their time, MaxLate at
	// worst; Missed of them never.
	Due     int64 `json:"due"`
	Late    int64 `json:"late"`
	Missed  int64 `json:"missed"`
	MaxLate Num   `json:"max_late_ns"`
}

// Steady says how many trials of a cell reached the steady state that its job asked for.
type Steady struct {
	// Round is the length of a round in seconds.
	Round float64 `json:"round_s"`
	// Reached of Of trials had a steady state. After is the median time in seconds until it began.
	Reached int `json:"reached"`
	Of      int `json:"of"`
	After   Num `json:"after_s"`
}

// TrialSteady is the course of a trial with a steady state.
type TrialSteady struct {
	Steady bool `json:"steady"`
	// The rounds [From, To) count. After is when the first of them began, in seconds; Round is the length of a round in the
	// job.
	From  int     `json:"from"`
	To    int     `json:"to"`
	After float64 `json:"after_s"`
	Round float64 `json:"round_s"`
	// Rates is the metric of every round.
	Rates []Num `json:"rates"`
}

// openLoopOf sums up a cell's trials; nil for a closed loop.
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

// steadyOf sums up a cell's trials; nil if the job asked for no steady state.
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

// paceText returns the sentences about a cell's schedule and steady state that stand below the table.
func (c *Cell) paceText(class string) []string {
	var out []string
	if o := c.Open; o != nil {
		late := fmt.Sprintf("all %s were started on time", commas(fmt.Sprint(o.Due)))
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

// openLoop reports whether the workload's I/Os follow a schedule.
func (w *Workload) openLoop() bool {
	return slices.ContainsFunc(w.Cells, func(c Cell) bool { return c.Open != nil })
}

// LatencyName names the latencies in the workload's tables and pictures: those of an open loop count from when an I/O was due.
func (w *Workload) LatencyName() string {
	if w.openLoop() {
		return strings.TrimSpace(w.Class + " response time")
	}
	return strings.TrimSpace(w.Class + " latency")
}
