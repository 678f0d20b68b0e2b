//go:build !linux

package engine

import (
	"context"
	"errors"
	"os"
)

// An Inside says where in a running container a worker works; see inside_linux.go.
type Inside struct {
	ID, Root, Dir string
	Groups        []string
	PID           int
	Ended         func()
	Accept        func(dir *os.File) error
}

// OpenInside works on Linux only.
func OpenInside(context.Context, string, WorkerSource, Inside) (Session, error) {
	return nil, errors.ErrUnsupported
}
