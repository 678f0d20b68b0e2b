package share

import (
	"fmt"
	"math"

	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

// sound checks that a report can be made from the trials of a file, and that their figures follow from their counts.
func sound(p *plan.Plan, trials []record.Trial) error {
	cells := map[record.Cell]bool{}
	for _, c := range p.Cells() {
		cells[c] = true
	}
	type slot struct {
		cell  record.Cell
		block int
	}
	seen := map[slot]bool{}
	for i := range trials {
		t := &trials[i]
		name := fmt.Sprintf("%s in block %d", t.Key, t.Block+1)
		s := slot{t.Cell, t.Block}
		switch {
		case !cells[t.Cell]:
			return invalid("the plan has no cell for its trial %s", name)
		case t.Block < 0 || t.Block >= p.Blocks:
			return invalid("the plan has %d blocks, and there is a trial %s", p.Blocks, name)
		case seen[s]:
			return invalid("there are two trials of %s", name)
		case t.Status == "":
			return invalid("the status of %s is neither done nor failed", name)
		}
		seen[s] = true
		if t.Status != record.Done {
			continue
		}
		if err := counted(t, name); err != nil {
			return err
		}
	}
	return nil
}

// counted checks one trial that was measured.
func counted(t *record.Trial, name string) error {
	n := len(t.Results)
	if n != t.Cell.Clients || len(t.Where) != n || len(t.Truth) != n {
		return invalid("the trial %s has %d clients, and results for %d", name, t.Cell.Clients, n)
	}
	for i := range t.Results {
		r := &t.Results[i]
		if r.Elapsed <= 0 || len(r.Classes) == 0 {
			return invalid("the trial %s has no window or counted nothing", name)
		}
		if r.Rounds != nil && !r.Rounds.Sound() {
			return invalid("the rounds of the trial %s contradict each other", name)
		}
		for _, c := range r.Classes {
			// A histogram has the operations of the window and those in flight at its end.
			if c.Ops < 0 || c.InFlight < 0 || c.Lat.Count() != uint64(c.Ops)+uint64(c.InFlight) {
				return invalid("the latencies of %s are of %d operations of %s, and it counted %d", name, c.Lat.Count(), c.Name, c.Ops+c.InFlight)
			}
		}
		if ops := sampled(r); ops >= 0 && ops != r.Ops() {
			return invalid("the rates over time of %s add up to %d operations, and it counted %d", name, ops, r.Ops())
		}
	}
	if want := workload.Together(t.Results, t.Metric); !near(t.Value, want) {
		return invalid("the figure of %s is %.6g %s, and by its counts it is %.6g", name, t.Value, t.Metric.Name, want)
	}
	return nil
}

// sampled sums the samples of a result; -1 if they are not of the whole window: a steady state's are of rounds.
func sampled(r *workload.Result) int64 {
	if r.Rounds != nil || len(r.Samples) == 0 {
		return -1
	}
	var n int64
	for _, s := range r.Samples {
		n += s.Ops
	}
	return n
}

// near reports whether two figures are the same but for rounding: a report has seven digits, and other processors round sums
// in another way.
func near(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-5*max(math.Abs(a), math.Abs(b))
}
