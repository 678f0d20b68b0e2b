package report

import (
	"strings"

	"plimsoll/internal/measure/record"
)

// A caution says in two words why a place is less safe than others. It stands beside every verdict on the place. It is
// empty if no reason is known.
type caution string

const (
	inMemory caution = "in memory"
	lessSafe caution = "less safe"
)

// caution is the cell's, from its own trials.
func (c *Cell) caution() caution {
	switch {
	case c.Disk.Memory:
		return inMemory
	case c.Unsafe:
		return lessSafe
	}
	return ""
}

// caution is the place's, from all of its cells.
func (a *Answer) caution() caution {
	switch {
	case a.Memory:
		return inMemory
	case len(a.Unsafe) > 0:
		return lessSafe
	}
	return ""
}

// unsafeIn reports whether at least half of the trials have syncs that a power cut may undo.
func unsafeIn(trials []*record.Trial) bool {
	n := 0
	for _, t := range trials {
		for _, w := range t.Warnings {
			if w.Unsafe {
				n++
				break
			}
		}
	}
	return n > 0 && 2*n >= len(trials)
}

// warnOf adds to the verdict on a cell how its safety differs from the baseline's: a less safe cell is not simply faster.
func (c *Cell) warnOf(base *Cell) {
	if c.Compared == nil || c.Kind == Control {
		return
	}
	own, other := c.caution(), base.caution()
	words := string(own)
	switch {
	case own == other:
		return
	case own == "":
		words = "but safer"
	}
	c.aside = ", " + words
	c.Verdict = insert(c.Verdict, c.aside)
}

// insert adds words to a verdict, before the number of failed trials.
func insert(verdict, words string) string {
	verdict, failed, ok := strings.Cut(verdict, ";")
	if ok {
		failed = ";" + failed
	}
	return verdict + words + failed
}

// safetyText says why a place is less safe, at the start of its answer; empty if it isn't.
func (a *Answer) safetyText() string {
	switch {
	case a.Memory && a.memoryWhy != "":
		return "memory, not storage: " + a.memoryWhy
	case a.Memory:
		return "memory, not storage: its data is gone with the container"
	case len(a.Unsafe) > 0:
		return "less safe: a power cut may lose synced data at " + rankedNames(a.Unsafe)
	}
	return ""
}
