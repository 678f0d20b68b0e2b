package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/proof"
	"plimsoll/internal/size"
)

// summary is what the tables of the interference and the limits come to, a sentence each.
func (r *Report) summary() {
	for _, s := range []string{r.interferenceText(), r.limitsText()} {
		if s != "" {
			r.Summary = append(r.Summary, s)
		}
	}
}

// interferenceText says what clients lose under each set of limits, or in each place where there is one set only.
func (r *Report) interferenceText() string {
	type span struct {
		name      string
		low, high Num
	}
	byLimits := slices.ContainsFunc(r.Interference, func(f Interference) bool { return f.limits != r.Interference[0].limits })
	var spans []span
	verb := "loses"
	for _, f := range r.Interference {
		if !f.Score.Known() {
			continue
		}
		if f.Tentative {
			verb = "seems to lose"
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
			i, spans = len(spans), append(spans, span{name, f.Score, f.Score})
		}
		spans[i].low, spans[i].high = min(spans[i].low, f.Score), max(spans[i].high, f.Score)
	}
	if len(spans) == 0 {
		return ""
	}
	var parts []string
	for _, s := range spans {
		parts = append(parts, lossText(s.low, s.high)+" "+s.name)
	}
	return "Next to others that do the same, a client " + verb + " this much of its pace: " + strings.Join(parts, ", ") + "."
}

// lossText is a range of scores: "nothing", "38 %", "5 to 38 %". A gain is nothing lost.
func lossText(low, high Num) string {
	l, h := math.Round(100*max(float64(low), 0)), math.Round(100*max(float64(high), 0))
	switch {
	case h == 0:
		return "nothing"
	case l == h:
		return fmt.Sprintf("%.0f %%", h)
	}
	return fmt.Sprintf("%.0f to %.0f %%", l, h)
}

// limitsText says how many limits held, and names the first that didn't.
func (r *Report) limitsText() string {
	if len(r.Limits) == 0 {
		return ""
	}
	by := map[proof.Verdict]int{}
	var worst *LimitRow
	for i := range r.Limits {
		l := &r.Limits[i]
		if by[l.Verdict]++; l.Verdict == proof.NotHeld && (worst == nil || l.Error > worst.Error) {
			worst = l
		}
	}
	s := fmt.Sprintf("%d of %s held", by[proof.Held], size.Plural(len(r.Limits), "limit"))
	if n := by[proof.Unproved]; n > 0 {
		s += fmt.Sprintf("; %d unproved", n)
	}
	if worst != nil {
		s += fmt.Sprintf("; %d NOT held, worst %s of %s at %s: asked %s, saw %s", by[proof.NotHeld], worst.Key, worst.Workload, worst.Label, worst.text(worst.Asked), worst.text(worst.Seen))
	}
	return s + "."
}
