package agent

import (
	"fmt"
	"time"

	"plimsoll/internal/measure/wire"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/size"
	"plimsoll/load"
)

// A TrialError is a trial that failed: what the worker said, and how far it got.
type TrialError struct {
	// Phase is wire.PhasePrepare, wire.PhaseRun, or "worker" when the agent itself
	// went.
	Phase string
	Text  string
	// Signal killed the trial's process, if any did.
	Signal string
	// Log holds the last lines of standard error.
	Log string
	// Done is how far it got; nil if it did not say.
	Done *load.Sample
	// Command is what became of the trial's program; nil if it has none.
	Command *workload.CommandEnd
	// Waits are the lines of procfs.Waits on the worker's processes, and Since is how long the trial was in its phase, when it was
	// ended by a deadline.
	Waits []string
	Since time.Duration

	err error
}

// Error implements error.
func (e *TrialError) Error() string { return e.Text }

// Progress says how far it got, "" if it did not say.
func (e *TrialError) Progress() string {
	if e.Done == nil {
		return ""
	}
	if e.Command != nil {
		files := "files"
		if e.Done.Ops == 1 {
			files = "file"
		}
		return fmt.Sprintf("%d %s and %s in the destination after %s", e.Done.Ops, files, size.Bytes(e.Done.Bytes), size.Duration(e.Done.At))
	}
	return fmt.Sprintf("%d operations and %s in %s", e.Done.Ops, size.Bytes(e.Done.Bytes), size.Duration(e.Done.At))
}

// Unwrap returns what it was stopped for, if it was, ErrLost when the agent is
// gone, and workload.ErrOverwrite when the trial was refused for that.
func (e *TrialError) Unwrap() error { return e.err }

// failed turns the worker's words into an error.
func failed(e *wire.Error) error {
	t := &TrialError{Phase: e.Phase, Text: e.Text, Signal: e.Signal, Log: e.Log, Done: e.Done, Command: e.Command}
	if e.Missing {
		t.err = workload.ErrMissing
	}
	if e.Overwrite {
		t.err = workload.ErrOverwrite
	}
	return t
}
