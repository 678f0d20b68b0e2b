package httpload

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sentAgain reports whether the kernel had to resend the first packet (SYN) of a new connection, by its count of
// retransmissions (tcp_info in the kernel's include/uapi/linux/tcp.h).
func sentAgain(conn net.Conn, _ time.Duration) (again bool) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			again = info.Total_retrans > 0
		}
	})
	return again
}
