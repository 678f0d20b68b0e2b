//go:build unix

package httpload

import (
	"errors"
	"syscall"
)

// isReset reports whether the other end has closed the connection.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
