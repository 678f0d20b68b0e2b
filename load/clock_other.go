//go:build !linux

package load

// tscUsable is false where nobody says whether the counter is a clock.
func tscUsable() bool { return false }
