package compare

import (
	"regexp"
	"strconv"

	"plimsoll/internal/measure/report"
	"plimsoll/internal/text/usage"
)

// A Condition is a change that is not to happen, such as "slower>10%".
type Condition struct {
	// Faster asks for cells that became faster instead of slower.
	Faster bool
	// More is the share: 0.1 for 10 %.
	More float64
}

var condition = regexp.MustCompile(`^\s*(slower|faster)\s*>\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*$`)

// ParseCondition reads a condition. The error is a *usage.Error.
func ParseCondition(s string) (c Condition, err error) {
	m := condition.FindStringSubmatch(s)
	if m == nil {
		return c, usage.Errorf("%q is no condition: write slower>10%% or faster>10%%", s)
	}
	percent, err := strconv.ParseFloat(m[2], 64)
	if err != nil || m[1] == "slower" && percent >= 100 {
		return c, usage.Errorf("%q is no condition: nothing gets slower by more than 100 %%", s)
	}
	return Condition{m[1] == "faster", percent / 100}, nil
}

// Met lists the changes that are proven to meet the condition: they have that verdict, which takes six blocks in both runs, and
// their whole interval lies beyond it. Changes in doubt don't count.
func (c *Comparison) Met(cond Condition) (met []Change) {
	for _, ch := range c.Changes {
		switch {
		case ch.Doubt:
		case cond.Faster && ch.Kind == report.Faster && float64(ch.Low) > 1+cond.More,
			!cond.Faster && ch.Kind == report.Slower && float64(ch.High) < 1-cond.More:
			met = append(met, ch)
		}
	}
	return met
}
