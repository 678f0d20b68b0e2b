//go:build !unix

package worker

import "os"

// Input is standard input.
func Input() *os.File { return os.Stdin }
