//go:build !linux

package device

import "os"

// NotInUse returns nil: it can't be asked on this system.
func NotInUse(string) error { return nil }

// FileNotInUse returns nil: it can't be asked on this system.
func FileNotInUse(*os.File) error { return nil }
