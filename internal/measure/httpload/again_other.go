//go:build !linux

package httpload

import (
	"net"
	"time"
)

// sentAgain reports whether the first packet of a new connection (SYN) seems to have been sent again: that is done after a second
// (RFC 6298).
func sentAgain(_ net.Conn, took time.Duration) bool { return took >= time.Second }
