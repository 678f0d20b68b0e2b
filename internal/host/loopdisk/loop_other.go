//go:build !linux

package loopdisk

import "errors"

// Only Linux has loop devices.
func reserve(string, int64) error { return errors.ErrUnsupported }
func attach(string, string) error { return errors.ErrUnsupported }
func detach(string) error         { return nil }
