//go:build !linux

package engine

import "plimsoll/internal/measure/wire"

// OpenFiles is what a worker needs: this system's own limit says nothing of a container's.
func OpenFiles() int64 { return wire.OpenFiles }
