//go:build !linux

package device

// fileIdentity is Linux's: loop devices are.
func fileIdentity(string) string { return "" }
