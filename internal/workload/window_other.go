//go:build !linux && !windows

package workload

import (
	"os"
	"time"
)

// takeSnapshot knows no counters on this system.
func takeSnapshot(bool) snapshot { return snapshot{at: time.Now()} }

// datasync syncs data and metadata; this system has no call for the data alone.
func datasync(f *os.File) error { return f.Sync() }
