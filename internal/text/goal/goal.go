// Package goal prints a benchmark's figure beside its goal, the promised value, in the same words in every
// benchmark. A missed goal is reported and is no failure by itself: times on a shared machine mean
// little: a reader decides whether they count.
package goal

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

// Took is a line on something that took so long and may take at most that long.
func Took(what string, took, most time.Duration) string {
	return fmt.Sprintf("%s: %.2f s, target <= %g s, %s", what, took.Seconds(), most.Seconds(), Verdict(took <= most))
}
