package trial

import (
	"fmt"

	"plimsoll/internal/agent"
	"plimsoll/internal/record"
	"plimsoll/internal/size"
	"plimsoll/internal/wire"
)

// idle is the error of a trial in whose window nothing was complete, nil for any other. 0 would be a figure that nobody
// measured: a window too short for one I/O, or for a machine so busy that the threads came after its end, says nothing of the
// place, and no ratio can be made of it.
func idle(t *record.Trial) error {
	if t.Value > 0 {
		return nil
	}
	return &agent.TrialError{Phase: wire.PhaseRun, Text: fmt.Sprintf(
		"not one I/O was complete in the window of %s: a longer runtime tells how slow it is; or the limits are too low for the block size",
		size.Duration(t.Spec.Job.Runtime))}
}
