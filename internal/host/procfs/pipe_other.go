//go:build !linux

package procfs

// unread is unknown on this system.
func unread(string) int { return -1 }
