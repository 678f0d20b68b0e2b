//go:build !linux

package target

import (
	"context"
	"errors"
	"fmt"
)

// watch implements source: these runtimes run on Linux only.
func (s *tree) watch(_ context.Context, send func(Event)) {
	send(Event{Type: Lost, Source: s.what(), Err: fmt.Errorf("containers in folders are watched on Linux only: %w", errors.ErrUnsupported)})
}
