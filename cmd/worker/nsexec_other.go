//go:build !linux

package main

import "errors"

// nsexec needs mount namespaces, which only Linux has.
func nsexec([]string) error { return errors.ErrUnsupported }
