package check

import (
	"fmt"
	"math"
	"strings"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/steady"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/size"
)

const (
	// steadySamples is the least number of samples for a trend. steadySlope is how much of the mean a straight line through
	// them may rise or fall from end to end, and steadyCV their coefficient of variation. Both are twice what SNIA's PTS
	// allows for rounds of a minute (slope 10 %), since these intervals are of about a second.
	steadySamples = 5
	steadySlope   = 0.2
	steadyCV      = 0.25
	// slopeT is the t value from which a slope is no accident of the scatter: at 3 degrees of freedom that has a chance of
	// about 6 %, at 10 of about 1 %.
	slopeT = 3.0
)

// leastInterval is the shortest interval that is judged. Windows of under twenty seconds are sampled more finely for the
// picture (load.SampleEvery), and within a few seconds a journal's flush looks like a step. It is well below the 500 ms of
// a ten-second window, so that the clock's jitter decides nothing there.
const leastInterval = 400 * time.Millisecond

// checkSteady looks at the course of the trial: steps from one level to another (check 9), and figures that drift or
// scatter. A job that asked for a steady state is judged by that alone.
func checkSteady(v *view) []record.Warning {
	if f, ok := workload.Steadiness(v.t.Results, v.t.Metric); ok {
		if f.Steady {
			return nil
		}
		return append(neverSteady(v, f), stepped(workload.RoundsOf(v.t.Results, "1/s"), "The figure shows the end.")...)
	}
	c := workload.CourseOf(v.t.Results, "1/s")
	if c.Step < leastInterval {
		return nil
	}
	if out := stepped(c, "The figure mixes the levels."); out != nil {
		return out
	}
	out := unsteady(c)
	if v.t.Spec.Job.OpenLoop() {
		// The rate is fixed by the job, even if the place changes.
		out = append(out, slowed(workload.LatencyOf(v.t.Results))...)
	}
	return out
}

// after is the time after n intervals of c.
func after(c workload.Course, n int) string {
	return size.Duration((time.Duration(n) * c.Step).Round(100 * time.Millisecond))
}

// maxSteps is how many steps a sentence lists.
const maxSteps = 4

// stepped reports the points at which the rate goes from one level to another. figure says what the trial's figure shows
// then.
func stepped(c workload.Course, figure string) []record.Warning {
	steps := steady.Steps(c.Rates)
	if len(steps) == 0 || c.Step < leastInterval {
		return nil
	}
	all := after(c, len(c.Rates))
	if len(steps) > 1 {
		text := stepsText(c, steps, func(x float64) string { return rate(x, "1/s") })
		return warning(Burst, record.Doubt, stepEvidence(c, steps), "In %s the rate went from one level to another %s: %s. %s", all, times(len(steps)), text, figure)
	}
	s := steps[0]
	why := "burst credits ran out, a cache filled up, or the device got hot"
	if s.After > s.Before {
		why = "something that had held it up ended: a neighbour's work, a limit, or the filling of a cache"
	}
	return warning(Burst, record.Doubt, stepEvidence(c, steps), "After %s of %s the rate %s from %s to %s and stayed there: %s. %s",
		after(c, s.At), all, verb(s.Change()), rate(s.Before, "1/s"), rate(s.After, "1/s"), why, figure)
}

// slowed reports steps in the mean service time of an open loop, whose rate is fixed.
func slowed(c workload.Course) []record.Warning {
	steps := steady.Steps(c.Rates)
	if len(steps) == 0 {
		return nil
	}
	text := stepsText(c, steps, func(x float64) string { return size.Duration(time.Duration(x * float64(time.Second))) })
	return warning(Burst, record.Note, stepEvidence(c, steps), "The rate was as asked, but in %s the mean service time went from one level to another %s: %s. The percentiles mix the levels.",
		after(c, len(c.Rates)), times(len(steps)), text)
}

// stepsText lists steps one after the other.
func stepsText(c workload.Course, steps []steady.Step, figure func(float64) string) string {
	var parts []string
	for _, s := range steps[:min(len(steps), maxSteps)] {
		parts = append(parts, fmt.Sprintf("after %s it %s from %s to %s", after(c, s.At), verb(s.Change()), figure(s.Before), figure(s.After)))
	}
	if n := len(steps) - maxSteps; n > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(parts, ", ")
}

func verb(change float64) string {
	if change < 0 {
		return "fell"
	}
	return "rose"
}

// stepEvidence holds all steps, and the greatest one by itself. The level before a step is above 0.
func stepEvidence(c workload.Course, steps []steady.Step) map[string]any {
	greatest := steps[0]
	list := make([]map[string]any, len(steps))
	for i, s := range steps {
		list[i] = map[string]any{"at_ns": int64(time.Duration(s.At) * c.Step), "before": s.Before, "after": s.After}
		// Compared as factors: a fall to a tenth is greater than a rise to the double.
		if math.Abs(math.Log(s.After/s.Before)) > math.Abs(math.Log(greatest.After/greatest.Before)) {
			greatest = s
		}
	}
	return map[string]any{
		"before": greatest.Before, "after": greatest.After, "change": greatest.Change(), "at_sample": greatest.At,
		"samples": len(c.Rates), "step_ns": int64(c.Step), "steps": list,
	}
}

// neverSteady reports how far a job was from its steady state.
func neverSteady(v *view, f steady.Finding) []record.Warning {
	all, round := v.t.Results[0].Rounds, v.t.Spec.Steady.Round
	e := map[string]any{
		"rounds": len(all.Each), "round_ns": int64(round), "from": f.From, "to": f.To,
		"range": f.Throughput.Range, "slope": f.Throughput.Slope, "latency_range": f.Latency.Range, "latency_slope": f.Latency.Slope,
	}
	if f.To-f.From < steady.WindowRounds {
		return warning(NeverSteady, record.Doubt, e, "Never steady: there were only %d rounds, because something hung for longer than a round (%s). Plimsoll judges %d together.",
			len(all.Each), size.Duration(round), steady.WindowRounds)
	}
	text := "no operation ended"
	if f.Throughput.Mean > 0 {
		text = fmt.Sprintf("the throughput varied by %s of its mean and drifted by %s, the mean latency by %s and %s (at most %s and %s are allowed)",
			percent(f.Throughput.Range), percent(math.Abs(f.Throughput.Slope)), percent(f.Latency.Range), percent(math.Abs(f.Latency.Slope)), percent(steady.MaxRange), percent(steady.MaxSlope))
	}
	return warning(NeverSteady, record.Doubt, e, "Never steady: in %s (%d rounds of %s) no %d rounds in a row were steady. The figure shows the last ones, in which %s.",
		size.Duration(all.Each[len(all.Each)-1].At.Round(100*time.Millisecond)), len(all.Each), size.Duration(round), steady.WindowRounds, text)
}

// unsteady judges the trend and the scatter of the rates.
func unsteady(c workload.Course) []record.Warning {
	rates := c.Rates
	if len(rates) < steadySamples {
		return nil
	}
	mean, sd := meanSD(rates)
	if mean <= 0 {
		return nil
	}
	xs := make([]float64, len(rates))
	for i := range xs {
		xs[i] = float64(i)
	}
	slope, t := line(xs, rates)
	trend, cv := slope*float64(len(rates)-1)/mean, sd/mean
	e := map[string]any{"trend": trend, "cv": cv, "samples": len(rates), "step_ns": int64(c.Step)}
	switch {
	case math.Abs(trend) > steadySlope && math.Abs(t) > slopeT:
		return warning(Unsteady, record.Doubt, e, "The rate %s by %s of its mean over %s: it had not settled.", verb(trend), percent(math.Abs(trend)), after(c, len(rates)))
	case cv > steadyCV:
		return warning(Unsteady, record.Note, e, "The rate scatters by %s between intervals of %s (coefficient of variation over %s).", percent(cv), after(c, 1), after(c, len(rates)))
	}
	return nil
}
