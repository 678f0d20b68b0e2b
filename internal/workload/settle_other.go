//go:build !linux

package workload

// Unwritten isn't known on this system.
func Unwritten() int64 { return -1 }
