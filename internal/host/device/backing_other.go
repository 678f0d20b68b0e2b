//go:build !linux

package device

import "errors"

// Only Linux has loop devices.
func backing(string) (dev, inode uint64, err error) { return 0, 0, errors.ErrUnsupported }
func sameFile(string, uint64, uint64) bool          { return true }

func sameRoot(string, string) bool { return false }

func memoryFiles() uint64 { return 0 }
