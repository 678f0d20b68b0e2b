//go:build !linux

package engine

// CanUnshare returns false: only Linux has mount namespaces.
func CanUnshare() bool { return false }
