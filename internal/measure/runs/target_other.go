//go:build !linux

package runs

// writable can't be asked without a try on this system: the first trial finds out.
func writable(string) error { return nil }
