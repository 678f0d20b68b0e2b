//go:build !linux

package limits

import (
	"context"
	"time"

	"plimsoll/cmd/bench/figure"
)

// machine is impossible without Linux, which alone has control groups.
func machine(int) (*place, func() error, error) {
	return nil, nil, errSkip("there are no control groups on this system")
}

// keep measures nothing on this system.
func keep(context.Context, *place, int, time.Duration, bool) ([]figure.Figure, error) {
	return nil, nil
}

// newMemoryBed is impossible without Linux, which alone has control groups.
func newMemoryBed(int) (bed, error) {
	return nil, errSkip("there are no control groups on this system")
}
