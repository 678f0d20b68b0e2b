package trial

import (
	"fmt"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/wire"
	"plimsoll/internal/text/size"
)

// idle is the error of a trial in which nothing was complete, nil for any other. 0 would be a figure that nobody
// measured, and no ratio can be made of it. A window that ends before its first I/O does lasts until then, also on a machine so busy
// that the threads came after its end: such a trial is a slow one.
func idle(t *record.Trial) error {
	if t.Value > 0 {
		return nil
	}
	window := max(t.Spec.Job.Runtime, t.Spec.Runtime)
	if hung(t) {
		return &agent.TrialError{Phase: "timeout", Text: fmt.Sprintf(
			"not one I/O that was begun in the window of %s ended before the trial's timeout: the storage hangs", size.Duration(window))}
	}
	return &agent.TrialError{Phase: wire.PhaseRun, Text: fmt.Sprintf(
		"not one I/O was complete in the window of %s: a longer runtime tells how slow it is; or the limits are too low for the block size",
		size.Duration(window))}
}
