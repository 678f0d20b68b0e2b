package vm

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/procfs"
)

// killPatience is how long a killed process may take to end: one that waits for a disk can't be hurried.
const killPatience = 5 * time.Second

// killOwn kills the process o, but no later one with its number, and waits for its end. It returns false if the process is
// gone already.
func killOwn(o procfs.Process) (killed bool, err error) {
	if o.PID <= 1 || o.Start == 0 {
		return false, nil // The journal's entry is damaged.
	}
	fd, err := unix.PidfdOpen(o.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("pidfd_open: %w", err)
	}
	defer unix.Close(fd)
	// The descriptor now holds the process; check that it is the right one.
	if !o.Alive() {
		return false, nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return false, err
	}
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for deadline := time.Now().Add(killPatience); ; {
		n, err := unix.Poll(poll, 100)
		if n > 0 {
			return true, nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return true, err
		}
		if time.Now().After(deadline) {
			return true, errors.New("it was killed, but does not end")
		}
	}
}
