//go:build !linux

package watch

import "os"

// readFile reads a file.
func readFile(path string, _ []byte) ([]byte, error) { return os.ReadFile(path) }
