package docker

import (
	"context"
	"time"

	"plimsoll/internal/measure/engine"
)

var _ engine.GoneChecker = (*Engine)(nil)

// goneTimeout is how long a daemon may take to answer; a busy one answers within a second.
const goneTimeout = 10 * time.Second

// Gone implements engine.GoneChecker: it asks the daemon anew.
func (e *Engine) Gone(ctx context.Context, _ engine.Spec) error {
	ctx, cancel := context.WithTimeout(ctx, goneTimeout)
	defer cancel()
	_, _, err := e.connect(ctx, true)
	return err
}
