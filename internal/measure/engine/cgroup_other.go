//go:build !linux

package engine

// RemoveGroups does nothing: only Linux has control groups.
func RemoveGroups(string) error { return nil }
