package trial

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/internal/measure/engine"
)

// A GroundError says that a trial ended because something that all trials need is gone: the engine, or the space in
// Plimsoll's own state folder. Such a trial says nothing about its cell, and is no result.
type GroundError struct {
	// Err is an *engine.StateFullError, or names the engine that is gone and how that was seen.
	Err error
}

// Error implements error.
func (e *GroundError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *GroundError) Unwrap() error { return e.Err }

// lostGround returns a *GroundError if the trial failed with err because the engine name, or the space for containers like
// spec's, is gone. It returns nil if the cell may be the cause, or ctx is over: an interrupt is a reason of its own.
func lostGround(ctx context.Context, name string, e engine.Engine, spec engine.Spec, err error) *GroundError {
	if err == nil || ctx.Err() != nil {
		return nil
	}
	var full *engine.StateFullError
	if errors.As(err, &full) {
		return &GroundError{full}
	}
	m, ok := e.(engine.Mortal)
	if !ok {
		return nil
	}
	if gone := m.Gone(ctx, spec); gone != nil && ctx.Err() == nil {
		return &GroundError{fmt.Errorf("engine %s is gone: %w", name, gone)}
	}
	return nil
}
