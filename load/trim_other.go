//go:build !linux

package load

import "fmt"

// canTrim reports, as an error, that nothing can be trimmed here.
func canTrim(path string) error { return fmt.Errorf("trim %s: %w", path, ErrNotSupported) }
