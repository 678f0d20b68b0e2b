package trial

import (
	"fmt"
	"math"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

const (
	// leastOps is how many operations a window should hold: the error of a count of 30 is about 18 % (check.Window).
	leastOps = 30
	// shortWindow bounds the windows that are made longer, and what they become. Who asks for a longer one means it.
	shortWindow = time.Second
)

// stretched is the workload of a block after the first: if too few operations fitted into the first block's window in one of
// its cells, all cells get a longer one from then on, and so stay comparable. Blocks are compared within themselves.
func (r *Runner) stretched(spec workload.Spec, block int) workload.Spec {
	runtime := &spec.Runtime
	if spec.Kind == workload.Block {
		runtime = &spec.Job.Runtime
	}
	if block == 0 || *runtime <= 0 || *runtime >= shortWindow || spec.Kind == workload.Command || spec.Kind == workload.Stage {
		return spec
	}
	least := int64(leastOps)
	for _, trials := range [][]record.Trial{r.Earlier, r.trials} {
		for i := range trials {
			if t := &trials[i]; t.Block == 0 && t.Cell.Workload == spec.Name && t.Status == record.Done {
				for k := range t.Results {
					least = min(least, t.Results[k].Ops())
				}
			}
		}
	}
	if least >= leastOps {
		return spec
	}
	longer := time.Duration(float64(*runtime) * leastOps / math.Max(1, float64(least)) * 1.2).Round(10 * time.Millisecond)
	longer = min(longer, shortWindow)
	r.warn(record.Note, "window", fmt.Sprintf("Only %d operations of %s fitted into a window of %v in the first block: the windows of the other blocks have %v", least, spec.Name, *runtime, longer))
	*runtime = longer
	return spec
}
