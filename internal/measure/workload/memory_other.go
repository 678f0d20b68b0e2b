//go:build !linux

package workload

// inMemory knows no file system in memory.
func inMemory(string) bool { return false }
