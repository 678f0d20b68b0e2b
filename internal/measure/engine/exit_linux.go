package engine

import (
	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// awaitExit waits for a child's end and leaves it to be waited for, so that its number
// is nobody else's yet. It reports whether that is so (waitid(2), WNOWAIT).
func awaitExit(pid int) bool {
	return eintr.Retry(func() error { return unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) }) == nil
}
