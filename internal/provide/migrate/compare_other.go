//go:build !linux

package migrate

import (
	"context"
	"errors"
)

// Compare fails: volumes need Linux.
func Compare(context.Context, string, string) error { return errors.ErrUnsupported }
