//go:build !linux

package dedupe

import (
	"context"
	"errors"
)

// Folder fails: sharing blocks needs Linux.
func Folder(context.Context, string) (Done, error) { return Done{}, errors.ErrUnsupported }
