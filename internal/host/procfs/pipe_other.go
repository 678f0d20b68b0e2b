//go:build !linux

package procfs

// unread is not known on this system.
func unread(string) int { return -1 }
