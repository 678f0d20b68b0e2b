//go:build !linux

package limits

import (
	"context"
	"time"

	"plimsoll/cmd/bench/figure"
)

// machine has no control groups where there is no Linux.
func machine(int) (*place, func() error, error) {
	return nil, nil, errSkip("there are no control groups on this system")
}

// keep holds nothing there.
func keep(context.Context, *place, int, time.Duration, bool) ([]figure.Figure, error) {
	return nil, nil
}

// newMemoryBed has no control groups where there is no Linux.
func newMemoryBed(int) (bed, error) {
	return nil, errSkip("there are no control groups on this system")
}
