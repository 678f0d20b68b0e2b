package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/limit/judge"
	"plimsoll/internal/text/size"
)

// summary sums up the report, a sentence each: interference, limits, the smallest difference that the run can show, and safety.
func (r *Report) summary() {
	for _, s := range []string{r.interferenceText(), r.limitsText(), r.resolutionText(), r.fitText()} {
		if s != "" {
			r.Summary = append(r.Summary, s)
		}
	}
}

// interferenceText says what clients lose under each set of limits, or in each place if there is only one set. It reports
// the proven interval of each row, and nothing of rows that prove nothing.
func (r *Report) interferenceText() string {
	type span struct {
		name      string
		low, high Num
	}
	byLimits := slices.ContainsFunc(r.Interference, func(f Interference) bool { return f.limits != r.Interference[0].limits })
	var spans []span
	open := 0
	for _, f := range r.Interference {
		low, high := max(f.Low, 0), max(f.High, 0)
		switch f.Verdict {
		case hindered:
		case unhindered:
			low, high = 0, 0 // Within the margin.
		default:
			open++
			continue
		}
		name := "in " + f.engine + " " + f.place
		if byLimits {
			name = "under " + f.limits
			if plainLimits(f.limits) {
				name = "without limits"
			}
		}
		i := slices.IndexFunc(spans, func(s span) bool { return s.name == name })
		if i < 0 {
			i, spans = len(spans), append(spans, span{name, low, high})
		}
		spans[i].low, spans[i].high = min(spans[i].low, low), max(spans[i].high, high)
	}
	all := len(r.Interference)
	switch {
	case all == 0:
		return ""
	case open == all:
		return fmt.Sprintf("It is not proved how much pace a client loses next to others that do the same: %s no proven verdict.", rowsText(open, all))
	}
	var parts []string
	for _, s := range spans {
		parts = append(parts, lossText(s.low, s.high)+" "+s.name)
	}
	text := "Next to others that do the same, a client loses this much of its pace: " + strings.Join(parts, ", ")
	if open > 0 {
		text += fmt.Sprintf("; %s no proven verdict", rowsText(open, all))
	}
	return text + "."
}

// rowsText counts rows at the beginning of a sentence: "all 32 rows have".
func rowsText(n, of int) string {
	switch {
	case of == 1:
		return "the one row has"
	case n == of:
		return fmt.Sprintf("all %d rows have", n)
	}
	return fmt.Sprintf("%d of %d rows %s", n, of, plural(n, "has", "have"))
}

// lossText is a range of losses, rounded outward: "nothing", "38 %", "5 to 38 %".
func lossText(low, high Num) string {
	l, h := math.Floor(100*float64(low)), math.Ceil(100*float64(high))
	switch {
	case h == 0:
		return "nothing"
	case l == h:
		return fmt.Sprintf("%.0f %%", h)
	}
	return fmt.Sprintf("%.0f to %.0f %%", l, h)
}

// limitsText says how many limits held, and names the worst that didn't.
func (r *Report) limitsText() string {
	if len(r.Limits) == 0 {
		return ""
	}
	by := map[judge.Verdict]int{}
	var worst *LimitRow
	for i := range r.Limits {
		l := &r.Limits[i]
		if by[l.Verdict]++; l.Verdict == judge.NotHeld && (worst == nil || l.Error > worst.Error) {
			worst = l
		}
	}
	s := fmt.Sprintf("%d of %s held", by[judge.Held], size.Plural(len(r.Limits), "limit"))
	if n := by[judge.Unproved]; n > 0 {
		s += fmt.Sprintf("; %d unproved", n)
	}
	if worst != nil {
		saw := worst.text(worst.Seen)
		if worst.NotHeld < worst.Trials {
			saw = "up to " + worst.text(worst.High)
		}
		s += fmt.Sprintf("; %d NOT held, worst %s of %s at %s: asked %s, saw %s", by[judge.NotHeld], worst.Key, worst.Workload, worst.Label, worst.text(worst.Asked), saw)
	}
	return s + "."
}
