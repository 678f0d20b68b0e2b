//go:build !unix

package httpload

import (
	"errors"
	"io"
	"net"
)

// isReset reports whether the other end has closed the connection. Which error it is
// differs; one that is no timeout is taken for it.
func isReset(err error) bool {
	var n net.Error
	return err != nil && !errors.Is(err, io.EOF) && !(errors.As(err, &n) && n.Timeout())
}
