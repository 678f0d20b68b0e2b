//go:build !linux

package loads

import "plimsoll/load"

// bare would be a ring without accounting: only Linux has it.
func bare(load.Job) (reading, error) { return reading{}, load.ErrNotSupported }
