//go:build !linux

package vm

import (
	"errors"
	"os"
)

func socketPair(string) (listening, connected *os.File, err error) {
	return nil, nil, errors.ErrUnsupported
}
