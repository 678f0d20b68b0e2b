//go:build !linux

package engine

// CanUnshare: only Linux has mount namespaces.
func CanUnshare() bool { return false }
