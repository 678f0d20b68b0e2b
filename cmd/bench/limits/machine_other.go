//go:build !linux

package limits

import (
	"context"
	"io"
	"time"
)

// machine has no control groups where there is no Linux.
func machine(int) (*place, func() error, error) {
	return nil, nil, errSkip("there are no control groups on this system")
}

// keep holds nothing there.
func keep(context.Context, io.Writer, *place, int, time.Duration, bool) error { return nil }

// newMemoryBed has no control groups where there is no Linux.
func newMemoryBed(int) (bed, error) {
	return nil, errSkip("there are no control groups on this system")
}
