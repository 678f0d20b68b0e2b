//go:build !linux

package selfcheck

import "errors"

// A Limited is a loop device with a limited rate, on Linux only.
type Limited struct {
	// Device is its path.
	Device string
}

// NewLimited returns an error on this system.
func NewLimited(file, group string, iops int) (*Limited, error) {
	return nil, errors.New("only Linux limits a device here")
}

// Wrap returns argv.
func (l *Limited) Wrap(_ Case, argv []string) []string { return argv }

// Close does nothing.
func (l *Limited) Close() error { return nil }
