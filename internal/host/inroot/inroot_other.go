//go:build !linux

package inroot

import (
	"errors"
	"os"
)

// Dir fails: it needs Linux.
func Dir(string, string) (*os.File, error) { return nil, errors.ErrUnsupported }

// Of fails: it needs Linux.
func Of(int) string { return "" }

// MountID fails: it needs Linux.
func MountID(string, string) (int, error) { return 0, errors.ErrUnsupported }

// MountOf fails: it needs Linux.
func MountOf(*os.File) (int, error) { return 0, errors.ErrUnsupported }

// Link fails: it needs Linux.
func Link(string, string) (string, error) { return "", errors.ErrUnsupported }

// Free fails: it needs Linux.
func Free(string, string) (int64, error) { return 0, errors.ErrUnsupported }

// Remove fails: it needs Linux.
func Remove(folder, base *os.File, name string) error { return errors.ErrUnsupported }
