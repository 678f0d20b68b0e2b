package procfs

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// unread returns how many bytes wait in the pipe that a name in /proc/PID/fd stands for, -1 if it is no pipe or can't be opened.
func unread(name string) int {
	to, err := os.Readlink(name)
	if err != nil || !strings.HasPrefix(to, "pipe:") {
		return -1
	}
	// This opens the pipe itself, whichever end the descriptor is, and reads nothing.
	fd, err := eintr.Value(func() (int, error) { return unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0) })
	if err != nil {
		return -1
	}
	defer unix.Close(fd)
	n, err := unix.IoctlGetInt(fd, unix.TIOCINQ) // FIONREAD by its other name.
	if err != nil {
		return -1
	}
	return n
}
