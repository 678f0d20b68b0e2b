//go:build !linux

package engine

// canUnshare: only Linux has mount namespaces.
func canUnshare() bool { return false }
