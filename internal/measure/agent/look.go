package agent

import (
	"context"
	"errors"
	"os"
	"time"

	"plimsoll/internal/host/procfs"
)

// look reports what the worker's processes do, and for how long the trial has been in its phase, at the end of a trial that takes
// too long. It has to be called before they are told to stop: after that they would report the wait for their end.
func (a *Agent) look(cause error) (waits []string, since time.Duration) {
	if !errors.Is(cause, context.DeadlineExceeded) {
		return nil, 0
	}
	since = time.Since(a.since)
	pid := a.Session.Info().PID
	if pid <= 0 {
		return nil, since // It is on another machine.
	}
	const proc = "/proc"
	// A runtime stands between this process and its container, and passes on what both say.
	if up := procfs.Parent(proc, pid); up > 1 && up != os.Getpid() && procfs.Parent(proc, up) == os.Getpid() {
		pid = up
	}
	return procfs.Waits(proc, pid), since
}
