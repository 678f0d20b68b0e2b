//go:build !linux

package worker

import (
	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/wire"
)

// describePlace knows nothing more on this system.
func describePlace(*wire.Hello) {}

// RaiseOpenFiles has no meaning on this system.
func RaiseOpenFiles() {}

// preferAsVictim has no meaning on this system.
func preferAsVictim(int) {}

// mountOf knows no mounts here.
func mountOf(string) device.Mount { return device.Mount{} }
