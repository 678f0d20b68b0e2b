// Package goal puts a measured figure beside what is promised of it, in the same words in every
// benchmark. A goal that was missed is told and is no failure: times of a shared machine mean
// little, and whether they count is for a reader to judge.
package goal

import (
	"fmt"
	"time"
)

// Verdict says whether a goal was met.
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
