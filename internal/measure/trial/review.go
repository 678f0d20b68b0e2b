package trial

import (
	"slices"
	"time"

	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
)

// Progress is how far a run has come.
type Progress struct {
	Run *record.Run
	// Trials are all of the run so far, without latencies.
	Trials []record.Trial
	// Done is how many blocks are measured.
	Done int
	// Took is how long this process has measured.
	Took time.Duration
}

// A Review is what is decided about the rest of a run.
type Review struct {
	// Say is a line for the user, or empty.
	Say string
	// Blocks, if there are fewer, is how many blocks the run is to have in all. LeftOut are the keys of the cells that they are to be measured
	// without.
	Blocks  int
	LeftOut []string
}

// leastReviewed is how many blocks a run must have for a look at half-time: with fewer, half of them prove nothing.
const leastReviewed = 12

// review asks what to do after half of the blocks, and after the last. What it says at half-time changes nothing, and is no look.
// fresh is set if this process measured in the block.
func (r *Runner) review(done int, took time.Duration, fresh bool) error {
	half := r.Plan.Blocks >= leastReviewed && done == r.Plan.Blocks/2 && fresh
	if r.Review == nil || done < r.Plan.Blocks && !half {
		return nil
	}
	v := r.Review(Progress{r.run, slices.Concat(r.Earlier, r.trials), done, took})
	if v.Say != "" {
		r.Observer.Note(v.Say)
	}
	if done < r.Plan.Blocks || v.Blocks <= done {
		return nil
	}
	r.look(v.LeftOut)
	r.Plan.Blocks, r.run.Blocks, r.Budget = v.Blocks, v.Blocks, 0
	r.run.Quick = v.Blocks < plan.DefaultBlocks
	r.run.PlanText = string(r.Plan.Marshal())
	if err := r.Recorder.PutRun(*r.run); err != nil {
		return err
	}
	r.Observer.Plan(r.trialsIn(v.Blocks), v.Blocks, r.trialsIn(done))
	return nil
}

// look notes that the verdicts on all blocks can be seen now, and the cells that are left out from here on.
func (r *Runner) look(leftOut []string) {
	if n := len(r.run.Looks); n > 0 && r.run.Looks[n-1].Blocks == r.run.Blocks {
		last := &r.run.Looks[n-1]
		last.LeftOut = append(last.LeftOut, leftOut...)
		return
	}
	r.run.Looks = append(r.run.Looks, record.Look{Blocks: r.run.Blocks, LeftOut: leftOut})
}
