package report

import (
	"strings"

	"plimsoll/internal/measure/record"
)

// A caution is what keeps a place from being as safe as others, in two words that stand beside every verdict on it. Empty: nothing is known to.
type caution string

const (
	inMemory caution = "in memory"
	lessSafe caution = "less safe"
)

// caution is that of a cell.
func (c *Cell) caution() caution {
	switch {
	case c.Disk.Memory:
		return inMemory
	case c.Unsafe:
		return lessSafe
	}
	return ""
}

// caution is that of a place.
func (a *Answer) caution() caution {
	switch {
	case a.Memory:
		return inMemory
	case len(a.Unsafe) > 0:
		return lessSafe
	}
	return ""
}

// unsafeIn reports whether at least half of trials have syncs that a power cut may undo.
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

// warnOf adds to the verdict on a cell what sets it apart from the baseline in safety: one is not simply faster than the other.
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

// insert puts words behind a verdict, before how many trials of it failed.
func insert(verdict, words string) string {
	verdict, failed, ok := strings.Cut(verdict, ";")
	if ok {
		failed = ";" + failed
	}
	return verdict + words + failed
}

// safetyText says first of all what a place lacks; empty: nothing.
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
