//go:build !linux

package httpload

import (
	"net"
	"time"
)

// sentAgain reports whether the first packet (SYN) of a new connection seems to have been resent, which happens after a
// second (RFC 6298).
func sentAgain(_ net.Conn, took time.Duration) bool { return took >= time.Second }
