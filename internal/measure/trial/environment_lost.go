package trial

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/internal/measure/engine"
)

// An EnvironmentError says that a trial ended because something that all trials need is gone: the engine, or the space in
// Plimsoll's own state folder. Such a trial says nothing about its cell, and is no result.
type EnvironmentError struct {
	// Err is an *engine.StateFullError, or names the engine that is gone and how that was seen.
	Err error
}

// Error implements error.
func (e *EnvironmentError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *EnvironmentError) Unwrap() error { return e.Err }

// lostEnvironment returns an *EnvironmentError if the trial failed with err because the engine name, or the space for containers like
// spec's, is gone. It returns nil if the cell may be the cause, or ctx is over: an interrupt is a reason of its own.
func lostEnvironment(ctx context.Context, name string, e engine.Engine, spec engine.Spec, err error) *EnvironmentError {
	if err == nil || ctx.Err() != nil {
		return nil
	}
	var full *engine.StateFullError
	if errors.As(err, &full) {
		return &EnvironmentError{full}
	}
	m, ok := e.(engine.GoneChecker)
	if !ok {
		return nil
	}
	if gone := m.Gone(ctx, spec); gone != nil && ctx.Err() == nil {
		return &EnvironmentError{fmt.Errorf("engine %s is gone: %w", name, gone)}
	}
	return nil
}
