//go:build !linux

package load

// tscUsable is false: no source says whether the counter is a clock here.
func tscUsable() bool { return false }
