//go:build !linux

package device

// fileIdentity returns "": only Linux has loop devices.
func fileIdentity(string) string { return "" }
