//go:build !linux

package workload

// unwritten isn't known on this system.
func unwritten() int64 { return -1 }
