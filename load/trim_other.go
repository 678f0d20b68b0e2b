//go:build !linux

package load

import "fmt"

// canTrim returns an error: nothing can be trimmed on this system.
func canTrim(path string) error { return fmt.Errorf("trim %s: %w", path, ErrNotSupported) }
