//go:build !linux

package device

import "errors"

// targets can't be asked for: the device mapper is Linux's.
func targets(Number) ([]Target, error) { return nil, errors.ErrUnsupported }
