//go:build !linux

package engine

// awaitExit can't look at a child here without giving its number away, and reports that. What an
// agent leaves behind is not killed then: a trial ends with its input.
func awaitExit(int) bool { return false }
