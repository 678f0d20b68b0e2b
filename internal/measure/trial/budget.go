package trial

import (
	"time"

	"plimsoll/internal/measure/plan"
)

// fit sets the number of blocks to what fits into the budget, from the time that the first ones took. A block that has begun
// ends; so a run has one block at least, and may take longer than its budget by a block that was slower than the others.
func (r *Runner) fit(done int, took time.Duration) {
	if r.Budget <= 0 || done < 1 || took <= 0 {
		return
	}
	blocks := min(plan.MaxBlocks, done+int(max(0, r.Budget-took)/(took/time.Duration(done))))
	if blocks == r.Plan.Blocks || done > 1 && blocks > r.Plan.Blocks {
		return // It never grows again: the last block would be measured, or not, by how the others came out.
	}
	r.Plan.Blocks, r.run.Blocks = blocks, blocks
	r.run.PlanText = string(r.Plan.Marshal())
	r.Observer.Plan(len(r.cells)*blocks, blocks, r.measured())
}
