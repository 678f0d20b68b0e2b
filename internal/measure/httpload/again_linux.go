package httpload

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sentAgain reports whether the first packet of a new connection (SYN) had to be sent again, by the kernel's count of what it sent
// twice (tcp_info in the kernel's include/uapi/linux/tcp.h).
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
