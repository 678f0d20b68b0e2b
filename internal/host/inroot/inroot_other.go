//go:build !linux

package inroot

import (
	"errors"
	"os"
)

// Dir is Linux's.
func Dir(string, string) (*os.File, error) { return nil, errors.ErrUnsupported }

// Of is Linux's.
func Of(int) string { return "" }

// MountID is Linux's.
func MountID(string, string) (int, error) { return 0, errors.ErrUnsupported }

// MountOf is Linux's.
func MountOf(*os.File) (int, error) { return 0, errors.ErrUnsupported }

// Link is Linux's.
func Link(string, string) (string, error) { return "", errors.ErrUnsupported }

// Free is Linux's.
func Free(string, string) (int64, error) { return 0, errors.ErrUnsupported }

// Remove is Linux's.
func Remove(folder, base *os.File, name string) error { return errors.ErrUnsupported }
