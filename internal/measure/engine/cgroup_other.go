//go:build !linux

package engine

// RemoveGroups: only Linux has them.
func RemoveGroups(string) error { return nil }
