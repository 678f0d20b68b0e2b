//go:build !linux

package load

// tscUsable is false: this system does not say whether the counter is reliable.
func tscUsable() bool { return false }
