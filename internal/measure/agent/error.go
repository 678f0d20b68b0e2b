package agent

import (
	"fmt"
	"time"

	"plimsoll/internal/measure/wire"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/size"
	"plimsoll/load"
)

// A TrialError is the error of a failed trial: the worker's message, and how far the trial got.
type TrialError struct {
	// Phase is wire.PhasePrepare, wire.PhaseRun, or "worker" if the agent itself ended.
	Phase string
	Text  string
	// Signal killed the trial's process, if any did.
	Signal string
	// Log holds the last lines of standard error.
	Log string
	// Done is how far it got; nil if unknown.
	Done *load.Sample
	// Command says how the trial's program ended; nil if it has none.
	Command *workload.CommandEnd
	// Waits are the lines of procfs.Waits on the worker's processes, and Since is how long the trial was in its phase, if a
	// deadline ended it.
	Waits []string
	Since time.Duration

	err error
}

// Error implements error.
func (e *TrialError) Error() string { return e.Text }

// Progress says how far it got, "" if unknown.
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

// Unwrap returns the cause for which it was stopped, ErrLost if the agent is gone, or workload.ErrOverwrite if that is why
// the trial was refused.
func (e *TrialError) Unwrap() error { return e.err }

// failed turns the worker's error message into an error.
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
