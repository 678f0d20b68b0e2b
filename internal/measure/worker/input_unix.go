//go:build unix

package worker

import (
	"os"

	"golang.org/x/sys/unix"
)

// Input is standard input, read by the runtime's poller where it is a pipe or a socket: no thread waits in the kernel for
// what the parent says next.
//
// One that does may hold up the program for a minute. Go 1.26's runtime looks whether the world is being stopped before it notes that a thread
// is in a system call (runtime.reentersyscall), and stopTheWorldWithSema looks for such threads once. A thread that enters a read in between
// is waited for until it returns, or the runtime's monitor wakes up (sysmon, forcegcperiod/2). A trial stops the world right when it
// was told to start, and its input is read on just then: one of some thousand stood still.
func Input() *os.File {
	fd := int(os.Stdin.Fd())
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO && st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return os.Stdin
	}
	// The open file description of a terminal or the like is shared with other processes.
	if err := unix.SetNonblock(fd, true); err != nil {
		return os.Stdin
	}
	return os.NewFile(uintptr(fd), os.Stdin.Name())
}
