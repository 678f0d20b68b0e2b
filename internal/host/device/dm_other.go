//go:build !linux

package device

import "errors"

// targets fails: only Linux has a device mapper.
func targets(Number) ([]Target, error) { return nil, errors.ErrUnsupported }
