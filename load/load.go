// Package load generates block I/O on a file and measures each I/O.
package load

import (
	"time"

	"plimsoll/hist"
)

// A Class is what was measured of one kind of operation.
type Class struct {
	// Name is the operation: "read", "write" or "sync" for block jobs.
	Name string `json:"name"`
	// Ops and Bytes were completed inside the measured window.
	Ops   int64 `json:"ops"`
	Bytes int64 `json:"bytes"`
	// Lat holds the latency of every one of the Ops, in nanoseconds.
	Lat *hist.Histogram `json:"lat,omitempty"`
}

// A Sample is what happened in one interval of the measured window.
type Sample struct {
	// At is the end of the interval, from the start of the window.
	At time.Duration `json:"at"`
	// Ops and Bytes were completed in the interval.
	Ops   int64 `json:"ops"`
	Bytes int64 `json:"bytes"`
}

// Usage is what the job cost in its measured window. Unlike the per-class
// figures it includes the generator's own work.
type Usage struct {
	// User and System are CPU time of the whole process.
	User   time.Duration `json:"user"`
	System time.Duration `json:"system"`
	// MaxRSS is the peak resident memory of the process in bytes.
	MaxRSS int64 `json:"max_rss"`
}
