//go:build !linux

package engine

import (
	"errors"
	"os"
	"time"
)

type monitor struct{}

func newMonitor() (*monitor, *os.File, error) { return nil, nil, errors.ErrUnsupported }
func (*monitor) close() error                 { return nil }
func (*monitor) save(*os.File) error          { return errors.ErrUnsupported }
func (*monitor) goOn(time.Time) error         { return errors.ErrUnsupported }

// A stoppedError says that a machine was stopped to be saved, and does not go on.
type stoppedError struct{ err error }

func (e *stoppedError) Error() string { return e.err.Error() }
