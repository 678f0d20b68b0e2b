// Package goal prints a benchmark's figure beside its goal, the promised value, in the same words in every
// benchmark. A missed goal is reported and is no failure by itself: times on a shared machine mean
// little. A reader decides whether they count, or a caller that asks for it (Count).
package goal

import (
	"bytes"
	"fmt"
	"io"
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

// A Count passes a benchmark's tables on, and counts the goals in them that were missed: for a caller that makes it a failure.
type Count struct {
	io.Writer
	// Missed is how many Verdicts were printed of goals that were not met.
	Missed int

	line []byte
}

// Write implements io.Writer.
func (c *Count) Write(p []byte) (int, error) {
	c.line = append(c.line, p...)
	for {
		line, rest, ended := bytes.Cut(c.line, []byte("\n"))
		if !ended {
			break
		}
		c.Missed += bytes.Count(line, []byte(Verdict(false)))
		c.line = rest
	}
	return c.Writer.Write(p)
}
