//go:build !linux

package engine

// OOMKills can't be read on this system.
func OOMKills(int) (int64, bool) { return 0, false }
