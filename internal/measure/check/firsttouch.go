package check

import (
	"slices"

	"plimsoll/internal/measure/record"
)

const (
	// firstSlow is the share of the later bandwidth below which a first write was slow. Thin volumes and snapshots allocate
	// or copy on the first write, which makes it ten times slower and more. The layout writes with direct I/O where it can,
	// four MiB at a time, generates its data meanwhile, converts reserved extents and ends with a sync: on a virtio disk
	// with ext4 it went at 0.75 to 1.25 of the overwrite at depths of 8 and 1. Where it has to be buffered, or the CPU is
	// limited, half or a third is normal.
	firstSlow = 0.2
	// firstTouchBS is the least block size at which a trial's bandwidth may be compared with the layout's, which writes
	// large blocks.
	firstTouchBS = 64 << 10
	// firstTrial is the share of the slowest later trial below which a cell's first trial was slow. firstTrials is how many
	// later ones there must be.
	firstTrial  = 0.7
	firstTrials = 3
)

// checkFirstTouch compares the layout's bandwidth with that of overwriting.
func checkFirstTouch(v *view) []record.Warning {
	_, mean, _ := v.t.Spec.Job.BlockSizes()
	large := v.t.Metric.Unit == "B/s" && mean >= firstTouchBS
	onlyWrites := v.written.app > 0 && v.read.app <= 0
	if !v.block || v.memory || !large || !onlyWrites {
		return nil
	}
	first := 0.0
	for i := range v.t.Results {
		touch := v.t.Results[i].File.FirstTouch
		if touch <= 0 {
			return nil // laid out by an earlier trial
		}
		first += touch
	}
	if !(first < firstSlow*v.t.Value) {
		return nil
	}
	return warning(FirstTouch, record.Note, map[string]any{"first": first, "later": v.t.Value},
		"The file's first write ran at %s, the measured overwrites at %s: new blocks cost extra here.", rate(first, "B/s"), rate(v.t.Value, "B/s"))
}

// runFirstTouch finds cells whose first trial was slower than all later ones.
func runFirstTouch(cells []cell) []record.Warning {
	var out []record.Warning
	for _, c := range cells {
		if len(c.trials) < 1+firstTrials || c.trials[0].Metric.LowerIsBetter() {
			continue
		}
		first, least := c.trials[0].Value, c.trials[1].Value
		for _, t := range c.trials[1:] {
			least = min(least, t.Value)
		}
		// If something else held up the first trial, it says nothing about the blocks.
		if !(first < firstTrial*least) || doubtedBy(c.trials[0], Halted, Throttled, Neighbour, Foreign) {
			continue
		}
		out = append(out, warning(FirstTouch, record.Note, map[string]any{"cell": c.name(), "first": first, "least_later": least},
			"%s: the first trial (%s) was slower than every later one (%s and more): the first use of its blocks costs extra.", c.name(), rate(first, c.unit()), rate(least, c.unit()))...)
	}
	return out
}

// doubtedBy reports whether one of checks has a doubt about a trial.
func doubtedBy(t *record.Trial, checks ...string) bool {
	return slices.ContainsFunc(t.Warnings, func(w record.Warning) bool { return w.Severity == record.Doubt && slices.Contains(checks, w.Check) })
}
