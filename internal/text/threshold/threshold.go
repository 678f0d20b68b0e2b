// Package threshold compares a benchmark's figure with its goal, the promised value, in the same words in every benchmark.
// A missed goal is reported but fails nothing: times on a shared machine mean little, so a reader decides whether
// they count.
package threshold

import (
	"fmt"
	"time"
)

// Verdict reports whether a goal was met.
func Verdict(met bool) string {
	if met {
		return "met"
	}
	return "MISSED"
}

// Took is a line about a duration and the longest that is allowed.
func Took(what string, took, most time.Duration) string {
	return fmt.Sprintf("%s: %.2f s, target <= %g s, %s", what, took.Seconds(), most.Seconds(), Verdict(took <= most))
}
