package trial

import (
	"fmt"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/wire"
	"plimsoll/internal/text/size"
)

// idle returns an error for a trial without any complete operation: 0 would be a figure that nothing measured, and no ratio
// can be made of it. A window that ends before its first I/O is extended until the I/O ends, also if a busy machine starts
// the threads too late. Such a trial is a slow one.
func idle(t *record.Trial) error {
	if t.Value > 0 {
		return nil
	}
	window := max(t.Spec.Job.Runtime, t.Spec.Runtime)
	if hung(t) {
		return &agent.TrialError{Phase: "timeout", Text: fmt.Sprintf(
			"no I/O that was started in the window of %s ended before the trial's timeout: the storage hangs", size.Duration(window))}
	}
	return &agent.TrialError{Phase: wire.PhaseRun, Text: fmt.Sprintf(
		"no I/O ended in the window of %s: use a longer runtime to see how slow the storage is, or raise limits that are too low for the block size",
		size.Duration(window))}
}
