//go:build !linux

package engine

import (
	"errors"
	"os"
)

func socketPair(string) (listening, connected *os.File, err error) {
	return nil, nil, errors.ErrUnsupported
}
