//go:build !unix

package httpload

import (
	"errors"
	"io"
	"net"
)

// isReset reports whether the other end has closed the connection. The error differs between systems; any error other
// than a timeout counts.
func isReset(err error) bool {
	var n net.Error
	return err != nil && !errors.Is(err, io.EOF) && !(errors.As(err, &n) && n.Timeout())
}
