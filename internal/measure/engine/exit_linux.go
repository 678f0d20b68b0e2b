package engine

import (
	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// awaitExit waits for a child's end without reaping it, so that no other process gets its number yet. It reports whether it
// could (waitid(2), WNOWAIT).
func awaitExit(pid int) bool {
	return eintr.Retry(func() error { return unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) }) == nil
}
