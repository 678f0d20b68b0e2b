//go:build !linux

package engine

import "errors"

// hideBelow needs overlayfs, which only Linux has.
func hideBelow(string) error { return errors.ErrUnsupported }
