//go:build !linux

package device

import "os"

// NotInUse returns nil: this system has no such check.
func NotInUse(string) error { return nil }

// FileNotInUse returns nil: this system has no such check.
func FileNotInUse(*os.File) error { return nil }
