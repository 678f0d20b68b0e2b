//go:build !linux

package workload

import (
	"errors"
	"os"
)

// Unwritten isn't known on this system.
func Unwritten() int64 { return -1 }

// OpenFolder opens a folder.
func OpenFolder(path string) (*os.File, error) { return os.Open(path) }

// SyncFS is not supported: only Linux has it.
func SyncFS(*os.File) error { return errors.ErrUnsupported }
