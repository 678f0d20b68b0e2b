//go:build !linux

package device

import "errors"

// targets can't be asked for: the device mapper is Linux's.
func targets(uint32, uint32) ([]Target, error) { return nil, errors.ErrUnsupported }
