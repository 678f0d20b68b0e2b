package report

import (
	"fmt"
	"slices"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/size"
)

// mostNext bounds the blocks that Next asks for: twenty, or three times what there was. What
// needs more than that is settled by a quieter machine or longer trials sooner.
const mostNext = 20

// leastBlocks is the least at which package stats proves anything.
const leastBlocks = 6

// A Next is what to do about the cells that are not settled: inconclusive, or with too few
// blocks behind them to prove what they look like.
type Next struct {
	// Command goes on with the run until it has Blocks blocks in all. Empty (and Blocks 0)
	// where more blocks would settle nothing.
	Command string `json:"command,omitempty"`
	Blocks  int    `json:"blocks,omitempty"`
	// Open cells are not settled; Settles of them may be settled by then, if their
	// ratios stay where they are.
	Open    int `json:"open"`
	Settles int `json:"settles"`
	// Busy is set when other work on the machine put a trial in doubt.
	Busy bool `json:"busy,omitempty"`
}

// next finds out what would settle the open cells; nil if none is open, or the run has yet to
// be ended.
func (r *Report) next(opt Options) *Next {
	if r.Run.Status != record.Done || r.Run.Blocks <= 0 {
		return nil
	}
	n := Next{Busy: slices.ContainsFunc(r.Concerns, func(c Concern) bool { return c.Check == neighbour && c.Severity == record.Doubt })}
	most := max(mostNext, 3*r.Run.Blocks)
	var wanted []int
	for _, w := range r.Workloads {
		for _, c := range w.Cells {
			x := c.Compared
			if x == nil || c.Kind == Control || c.Kind != Inconclusive && !x.Tentative {
				continue
			}
			n.Open++
			total := r.Run.Blocks + x.More
			if x.Tentative && (c.Kind != Inconclusive || total > most) {
				// What so few blocks look like, and what they expect, is to be shown by six.
				total = leastBlocks
			}
			if total = max(total, leastBlocks); total > r.Run.Blocks && total <= most {
				wanted = append(wanted, total)
			}
		}
	}
	if n.Open == 0 {
		return nil
	}
	if n.Settles = len(wanted); n.Settles > 0 {
		n.Blocks = slices.Max(wanted)
		n.Command = fmt.Sprintf("plimsoll run --resume %s --blocks %d%s", r.Run.ID, n.Blocks, opt.Flags)
	}
	return &n
}

// neighbour is the check whose doubts are about other work on the machine.
const neighbour = "neighbour"

// why explains a Next, to stand beside its command or in its place.
func (n *Next) why() string {
	open := size.Plural(n.Open, "cell") + " " + plural(n.Open, "is", "are") + " not settled"
	if n.Command == "" {
		busy := ""
		if n.Busy {
			busy = " on a quieter machine, or"
		}
		return open + ", and a few more blocks would not settle " + plural(n.Open, "it", "them") + ": measure" + busy + " with longer trials"
	}
	text := fmt.Sprintf("%s; that may settle %d", open, n.Settles)
	if n.Busy {
		text += ". Other work on the machine was in the way: wait until it is quieter"
	}
	return text
}
