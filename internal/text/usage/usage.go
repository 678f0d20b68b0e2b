// Package usage marks errors that the user can mend at the command line: a flag, a file, the name of a run. The command ends with
// exit status 2 for them, and nothing was started.
package usage

import (
	"errors"
	"fmt"
)

// ErrEmpty reports that the text of a flag is empty.
var ErrEmpty = errors.New("it is empty: give it a value, or leave the flag out")

// An Error is wrong usage or bad input.
type Error struct{ Err error }

// Error implements error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ExitStatus is that of wrong usage.
func (e *Error) ExitStatus() int { return 2 }

// Errorf makes an Error of a text, as fmt.Errorf does.
func Errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

// Is reports whether err is the user's to mend.
func Is(err error) bool {
	var e *Error
	return errors.As(err, &e)
}
