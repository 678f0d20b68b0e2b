package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/size"
)

// mostNext is the most blocks that Next asks for, or Patience times those there were, if that is more.
const mostNext = 20

// Patience is how many times the blocks of a run may be offered for its open comparisons. Beyond that, a quieter machine or longer
// trials settle a question sooner.
const Patience = 10

// enoughTime is how much the default of --max leaves for a command without it.
const enoughTime = 25 * time.Minute

// leastBlocks is the least number of blocks with which package stats proves anything.
const leastBlocks = 6

// A Next is what to do about the cells that are not settled: those that are inconclusive, or have too few blocks to prove
// their verdict.
type Next struct {
	// Command continues the run with the cells that are open. Blocks is how many blocks in all that may take, and Time about how long.
	// It is empty, and they are 0, where more blocks would settle nothing.
	Command string        `json:"command,omitempty"`
	Blocks  int           `json:"blocks,omitempty"`
	Time    time.Duration `json:"time_ns,omitempty"`
	// Open is how many cells are not settled. Settles is how many of them that many blocks may settle, if their ratios stay
	// as they are.
	Open    int `json:"open"`
	Settles int `json:"settles"`
	// Busy is set when other work on the machine put a trial in doubt.
	Busy bool `json:"busy,omitempty"`
}

// next finds out what would settle the open cells. It is nil if no cell is open, or if the run is unfinished.
func (r *Report) next(g *gathered, opt Options) *Next {
	if r.Run.Status != record.Done || r.Run.Blocks <= 0 {
		return nil
	}
	n := Next{Busy: slices.ContainsFunc(r.Concerns, func(c Concern) bool { return c.Check == neighbour && c.Severity == record.Doubt })}
	most := max(mostNext, Patience*r.Run.Blocks)
	var wanted []int
	var open []OpenCell
	for _, w := range r.Workloads {
		for _, c := range w.Cells {
			x := c.Compared
			if x == nil || c.Kind == Control || c.Kind != Inconclusive && !x.Tentative {
				continue
			}
			n.Open++
			if !r.Run.MeasuredIn(c.Key, r.Run.Blocks) {
				continue // It was left out, and is not measured again.
			}
			total := r.Run.Blocks + x.More
			if x.Tentative && (c.Kind != Inconclusive || total > most) {
				// With so few blocks, take six first and see.
				total = leastBlocks
			}
			if total = max(total, leastBlocks); total > r.Run.Blocks && total <= most {
				wanted = append(wanted, total)
				open = append(open, OpenCell{Key: c.Key})
			}
		}
	}
	if n.Open == 0 {
		return nil
	}
	if n.Settles = len(wanted); n.Settles > 0 {
		n.Blocks = slices.Max(wanted)
		n.Time = BlockTime(g.trials, r.Needed(open)) * time.Duration(n.Blocks-r.Run.Blocks)
		most := ""
		if n.Time > enoughTime {
			most = fmt.Sprintf(" --max %dm", 10*int(math.Ceil(1.2*n.Time.Minutes()/10)))
		}
		n.Command = fmt.Sprintf("plimsoll run --resume %s --until-settled%s%s", r.Run.ID, most, opt.Flags)
	}
	return &n
}

// neighbour is the check that reports other work on the machine.
const neighbour = "neighbour"

// why explains a Next, beside its command or in its place.
func (n *Next) why() string {
	open := size.Plural(n.Open, "cell") + " " + plural(n.Open, "is", "are") + " not settled"
	if n.Command == "" {
		busy := ""
		if n.Busy {
			busy = " on a quieter machine or"
		}
		return open + ", and a few more blocks would not settle " + plural(n.Open, "it", "them") + ": measure" + busy + " with longer trials"
	}
	text := fmt.Sprintf("%s; that may settle %d in about %s", open, n.Settles, About(n.Time))
	if n.Busy {
		text += ". Other work on the machine was in the way: wait until it is quieter"
	}
	return text
}
