package trial

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/internal/engine"
	"plimsoll/internal/record"
)

// notTheCells returns why an error of a trial says nothing of its cell: the ground of the whole run
// is gone. Such a trial is no result. The run stops, and goes on with the same trial when
// it is resumed: going on without an engine would use up all of its trials in seconds, and its cells
// would be compared with others that were measured in another hour.
func (r *Runner) notTheCells(ctx context.Context, cell record.Cell, err error) error {
	if err == nil {
		return nil
	}
	var full *engine.StateFullError
	if errors.As(err, &full) {
		return full
	}
	e, ok := r.Engines[cell.Engine].(engine.Mortal)
	if !ok {
		return nil
	}
	if gone := e.Gone(ctx); gone != nil && ctx.Err() == nil {
		return fmt.Errorf("engine %s is gone: %w", cell.Engine, gone)
	}
	return nil
}
