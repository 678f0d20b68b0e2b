//go:build !linux

package key

import (
	"context"
	"errors"
	"os"
)

func open(path string) (*os.File, error) { return os.Open(path) }

// print fails: volumes need Linux.
func (Source) print(context.Context, []byte) (int, error) { return 0, errors.ErrUnsupported }
