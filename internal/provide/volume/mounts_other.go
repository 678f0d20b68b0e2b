//go:build !linux

package volume

import "errors"

func mountedAt(string) (string, error) { return "", errors.ErrUnsupported }

func shownElsewhere(string) (bool, error) { return false, errors.ErrUnsupported }
