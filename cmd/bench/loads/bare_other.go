//go:build !linux

package loads

import "plimsoll/load"

// bare is a ring without accounting, on Linux only.
func bare(load.Job) (reading, error) { return reading{}, load.ErrNotSupported }
