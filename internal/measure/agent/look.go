package agent

import (
	"context"
	"errors"
	"os"
	"time"

	"plimsoll/internal/host/procfs"
)

// look reports what the worker's processes wait for, and how long the trial has been in its phase, when a trial takes too
// long. Call it before they are stopped: after that they would wait for their end.
func (a *Agent) look(cause error) (waits []string, since time.Duration) {
	if !errors.Is(cause, context.DeadlineExceeded) {
		return nil, 0
	}
	since = time.Since(a.since)
	pid := a.Session.Info().PID
	if pid <= 0 {
		return nil, since // It runs on another machine.
	}
	const proc = "/proc"
	// A runtime stands between this process and its container, and forwards both directions.
	if up := procfs.Parent(proc, pid); up > 1 && up != os.Getpid() && procfs.Parent(proc, up) == os.Getpid() {
		pid = up
	}
	return procfs.Waits(proc, pid), since
}
