//go:build !linux

package oci

import "errors"

// hideBelow needs overlayfs, which only Linux has.
func hideBelow(string) error { return errors.ErrUnsupported }
