// Package hist keeps latencies in a histogram with fio's bucket layout.
package hist

// A Histogram counts latencies.
type Histogram struct{}
