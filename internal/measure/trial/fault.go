package trial

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/internal/measure/engine"
)

// A GroundError says why a trial broke off that says nothing of its cell: what all trials
// stand on is gone, the engine or the room in Plimsoll's own state folder. Such a trial is no result.
type GroundError struct {
	// Err is an *engine.StateFullError, or says which engine is gone and how that was seen.
	Err error
}

// Error implements error.
func (e *GroundError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *GroundError) Unwrap() error { return e.Err }

// lostGround asks why a trial failed with err on an engine that is called name, in a container like spec's, and
// returns nil if that may be its cell. When ctx is over it is not asked: an interrupt is its own reason.
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
