package runs

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/report"
	"plimsoll/internal/measure/trial"
	"plimsoll/internal/text/size"
)

// tooFar is by how much a comparison may need more time than there is, and be measured on: what it needs is an estimate from few
// blocks, and falls as often as it rises.
const tooFar = 2

// A settler decides which cells are measured on when all blocks are done.
type settler struct {
	// most is how long to measure in all; 0: no longer than the plan has blocks.
	most time.Duration
}

// review is trial.Runner's.
func (s settler) review(p trial.Progress) trial.Review {
	run := *p.Run
	run.Status = record.Running
	rep := report.Build(run, p.Trials, report.Options{})
	all, open := rep.Unsettled()
	if all == 0 {
		if s.most > 0 && p.Done == run.Blocks {
			return trial.Review{Say: "nothing is compared in this plan, so there is nothing to settle"}
		}
		return trial.Review{}
	}
	o := outlook{Progress: p, rep: rep, all: all, settled: all - len(open), open: open}
	// What was left out is not measured again: its blocks would not be those of its baseline.
	o.open = slices.DeleteFunc(o.open, func(c report.OpenCell) bool { return !run.MeasuredIn(c.Key, p.Done) })
	switch out := len(open) - len(o.open); {
	case p.Done < run.Blocks:
		return trial.Review{Say: o.halfTime(s.most > 0)}
	case s.most == 0:
		return trial.Review{}
	case p.Done >= plan.MaxBlocks:
		return trial.Review{Say: fmt.Sprintf("a run has %d blocks at most: %d of %d comparisons are not settled", plan.MaxBlocks, all-o.settled, all)}
	case len(o.open) == 0 && out > 0:
		return trial.Review{Say: fmt.Sprintf("after %s %s; the other %d were left out before: a run of their own may settle them", size.Plural(p.Done, "block"), o.settledText(), out)}
	case len(o.open) == 0:
		return trial.Review{Say: fmt.Sprintf("all %d comparisons are settled after %s", all, size.Plural(p.Done, "block"))}
	}
	return o.goOn(s.most - p.Took)
}

// An outlook is what may become of the comparisons of a run.
type outlook struct {
	trial.Progress
	rep *report.Report
	// all is how many comparisons there are, settled how many have a verdict. open are the others that are still measured.
	all, settled int
	open         []report.OpenCell
}

// settledText says how many comparisons are settled.
func (o *outlook) settledText() string {
	return fmt.Sprintf("%d of %s %s settled", o.settled, size.Plural(o.all, "comparison"), are(o.all))
}

// block is how long a block takes in which only these cells are measured.
func (o *outlook) block(cells map[string]bool) time.Duration {
	trials := make([]*record.Trial, len(o.Trials))
	for i := range trials {
		trials[i] = &o.Trials[i]
	}
	return report.BlockTime(trials, cells)
}

// within returns the open comparisons that may be settled by n blocks.
func (o *outlook) within(n int) []report.OpenCell {
	return slices.DeleteFunc(slices.Clone(o.open), func(c report.OpenCell) bool { return c.Blocks > n })
}

// longest is the most blocks that one of the comparisons needs.
func longest(open []report.OpenCell) int {
	n := 0
	for _, c := range open {
		n = max(n, c.Blocks)
	}
	return n
}

// halfTime says what the run has settled and what it may.
func (o *outlook) halfTime(goesOn bool) string {
	text := "half-time: " + o.settledText()
	soon := o.within(o.Run.Blocks)
	if o.settled == o.all {
		return text
	}
	text += fmt.Sprintf(", about %d will be at the end", o.settled+len(soon))
	later := slices.DeleteFunc(o.within(report.Patience*o.Run.Blocks), func(c report.OpenCell) bool { return c.Blocks <= o.Run.Blocks })
	if len(later) > 0 {
		more := o.block(o.rep.Needed(later)) * time.Duration(longest(later)-o.Run.Blocks)
		text += fmt.Sprintf("; %d need about %s more", len(later), report.About(more))
		if !goesOn {
			text += " (--until-settled)"
		}
	}
	if far := len(o.open) - len(soon) - len(later); far > 0 {
		text += fmt.Sprintf("; %d differ too little for the noise of this machine to be told apart", far)
	}
	return text
}

// goOn decides what is measured in the time that is left.
func (o *outlook) goOn(left time.Duration) trial.Review {
	text := fmt.Sprintf("after %s %s", size.Plural(o.Done, "block"), o.settledText())
	cells := o.rep.Needed(o.open)
	reach := o.Done + int(tooFar*float64(left)/float64(max(1, o.block(cells))))
	try := o.within(reach)
	// With fewer cells a block is shorter, and more may be in reach.
	for {
		cells = o.rep.Needed(try)
		more := o.within(o.Done + int(tooFar*float64(left)/float64(max(1, o.block(cells)))))
		if len(more) <= len(try) {
			break
		}
		try = more
	}
	fit := 0
	if len(try) > 0 {
		fit = int(left / max(1, o.block(cells)))
	}
	if fit < 1 {
		return trial.Review{Say: fmt.Sprintf("%s; the other %d need more time than --max leaves: %s", text, len(o.open), names(o.open))}
	}
	// Twice the blocks are worth a look: the intervals are then narrower by a fifth at least.
	fit = min(fit, o.Done, plan.MaxBlocks-o.Done, max(1, int(math.Ceil(1.2*float64(longest(try)-o.Done)))))
	text += fmt.Sprintf("; measuring %d on for about %s", len(try), report.About(o.block(cells)*time.Duration(fit)))
	if far := len(o.open) - len(try); far > 0 {
		isTried := map[string]bool{}
		for _, c := range try {
			isTried[c.Key] = true
		}
		rest := slices.DeleteFunc(slices.Clone(o.open), func(c report.OpenCell) bool { return isTried[c.Key] })
		text += fmt.Sprintf(", and leaving out %d that need far more time than --max leaves: %s", far, names(rest))
	}
	var out []string
	for _, w := range o.rep.Workloads {
		for _, c := range w.Cells {
			if !cells[c.Key] && o.Run.MeasuredIn(c.Key, o.Done) {
				out = append(out, c.Key)
			}
		}
	}
	return trial.Review{Say: text, Blocks: o.Done + fit, LeftOut: out}
}

// names lists comparisons by workload: "wal (oci bind, oci layer), tree (oci bind)".
func names(open []report.OpenCell) string {
	var order []string
	by := map[string][]string{}
	for _, c := range open {
		if by[c.Workload] == nil {
			order = append(order, c.Workload)
		}
		by[c.Workload] = append(by[c.Workload], c.Label)
	}
	for i, w := range order {
		order[i] = w + " (" + strings.Join(by[w], ", ") + ")"
	}
	return strings.Join(order, ", ")
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
