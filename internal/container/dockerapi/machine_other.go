//go:build !linux

package dockerapi

// kernel is unknown: containers of Linux run on another kernel than this one.
func kernel() string { return "" }

// socketGroup: no socket has a group that could be joined.
func socketGroup(string) string { return "" }
