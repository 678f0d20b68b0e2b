//go:build !linux

package volume

import (
	"context"
	"errors"
)

func mountedAt(string) (string, error) { return "", errors.ErrUnsupported }

func shownElsewhere(string) (bool, error) { return false, errors.ErrUnsupported }

func unmountFolder(context.Context, string) error { return errors.ErrUnsupported }
