//go:build !linux

package engine

import "plimsoll/internal/measure/wire"

// OpenFiles is how many files a worker needs: this system's own limit doesn't apply to a container.
func OpenFiles() int64 { return wire.OpenFiles }
