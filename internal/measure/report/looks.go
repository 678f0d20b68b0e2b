package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/size"
)

// until is the first block that a cell was left out of; a cell that was not left out has no end.
func (g *gathered) until(c *group) int {
	for _, l := range g.run.Looks {
		if slices.Contains(l.LeftOut, c.key) {
			return l.Blocks
		}
	}
	return math.MaxInt
}

// look is how often the verdict on c could be seen with fewer blocks than it has.
func (g *gathered) look(c *group) int {
	blocks := g.compared()
	last := min(g.until(c), 1+blocks[len(blocks)-1])
	n := 0
	for _, l := range g.run.Looks {
		if l.Blocks < last {
			n++
		}
	}
	return n
}

// An OpenCell is a comparison that isn't settled.
type OpenCell struct {
	Workload, Label, Key string
	// Blocks is how many it needs in all, if its ratio stays as it is; at most a thousand more than it has.
	Blocks int
}

// Unsettled counts the comparisons of a report, and returns those that are inconclusive or rest on too few blocks.
func (r *Report) Unsettled() (comparisons int, open []OpenCell) {
	for _, w := range r.Workloads {
		for _, c := range w.Cells {
			x := c.Compared
			if x == nil || c.Kind == Control {
				continue
			}
			comparisons++
			if c.Kind == Inconclusive || x.Tentative {
				open = append(open, OpenCell{w.Name, c.Label, c.Key, max(leastBlocks, x.N+x.More)})
			}
		}
	}
	return comparisons, open
}

// Needed returns the keys of the cells that must be measured to compare those in open: themselves, what they are compared with, and the
// A/A controls of that.
func (r *Report) Needed(open []OpenCell) map[string]bool {
	needed, bases := map[string]bool{}, map[string]bool{}
	cells := func(yield func(*Cell) bool) {
		for i := range r.Workloads {
			for j := range r.Workloads[i].Cells {
				if !yield(&r.Workloads[i].Cells[j]) {
					return
				}
			}
		}
	}
	for _, o := range open {
		needed[o.Key] = true
	}
	for c := range cells {
		if needed[c.Key] && c.own != nil {
			bases[c.own.Key] = true
		}
	}
	for c := range cells {
		if bases[c.Key] || c.Control && c.own != nil && bases[c.own.Key] {
			needed[c.Key] = true
		}
	}
	return needed
}

// BlockTime is about how long a block takes in which only these cells are measured, by the trials so far.
func BlockTime(trials []*record.Trial, cells map[string]bool) time.Duration {
	wall, blocks := map[string]time.Duration{}, map[string]int{}
	for _, t := range trials {
		wall[t.Key] += t.Wall
		blocks[t.Key]++
	}
	var all time.Duration
	for key := range cells {
		if n := blocks[key]; n > 0 {
			all += wall[key] / time.Duration(n)
		}
	}
	return all
}

// About rounds an estimated time for a sentence.
func About(d time.Duration) string {
	unit := time.Second
	switch {
	case d >= 2*time.Minute:
		unit = time.Minute
	case d >= 20*time.Second:
		unit = 10 * time.Second
	}
	return size.Duration(max(unit, d.Round(unit)))
}

// looksText says when verdicts could be seen before the last block, which cells were left out, and that the intervals allow for it.
func (r *Report) looksText() string {
	var at []string
	out := 0
	for _, l := range r.Run.Looks {
		if l.Blocks < r.Run.Blocks {
			at = append(at, fmt.Sprint(l.Blocks))
			out += len(l.LeftOut)
		}
	}
	if len(at) == 0 {
		return ""
	}
	text := "verdicts could be seen before the last block, after block " + strings.Join(at, ", ") + ": all intervals are wide enough to hold together with those"
	if out > 0 {
		text += fmt.Sprintf("; %s %s left out from then on", size.Plural(out, "cell"), plural(out, "was", "were"))
	}
	return text
}
