//go:build !linux

package selfcheck

import (
	"context"
	"errors"
)

// A Limited is a loop device that is held to a rate: only Linux has it.
type Limited struct {
	// Device is its path.
	Device string
}

// NewLimited is an error on this system.
func NewLimited(context.Context, string, int) (*Limited, error) {
	return nil, errors.New("only Linux limits a device here")
}

// Wrap returns argv.
func (l *Limited) Wrap(_ Case, argv []string) []string { return argv }

// Close does nothing.
func (l *Limited) Close() error { return nil }
