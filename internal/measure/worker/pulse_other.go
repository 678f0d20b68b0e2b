//go:build !linux

package worker

import "plimsoll/internal/measure/workload"

// A pulse sees nothing on this system.
type pulse struct{}

func newPulse(int) *pulse { return nil }

func (*pulse) begin() {}

func (*pulse) end() []workload.Halt { return nil }
