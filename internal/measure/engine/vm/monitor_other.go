//go:build !linux

package vm

import (
	"context"
	"errors"
	"os"
)

type monitor struct{}

func newMonitor() (*monitor, *os.File, error)         { return nil, nil, errors.ErrUnsupported }
func (*monitor) close() error                         { return nil }
func (*monitor) save(context.Context, *os.File) error { return errors.ErrUnsupported }
func (*monitor) goOn(context.Context) error           { return errors.ErrUnsupported }

// A stoppedError says that a machine was stopped to be saved, and does not resume.
type stoppedError struct{ err error }

func (e *stoppedError) Error() string { return e.err.Error() }
