//go:build unix

package worker

import (
	"os"

	"golang.org/x/sys/unix"
)

// Input is standard input, read by the runtime's poller if it is a pipe or a socket: no thread waits in the kernel for the
// parent's next message.
//
// Such a thread could hold up the program for a minute. Go 1.26's runtime looks whether the world is being stopped before
// it notes that a thread is in a system call (runtime.reentersyscall), and stopTheWorldWithSema looks for such threads
// once. It waits for a thread that enters a read in between until the read returns, or the runtime's monitor wakes up
// (sysmon, forcegcperiod/2). A trial stops the world just when it gets the message to start, and reads its input again at that
// moment: about one in a thousand stood still.
func Input() *os.File {
	fd := int(os.Stdin.Fd())
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO && st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return os.Stdin
	}
	// A terminal or the like shares its open file description with other processes.
	if err := unix.SetNonblock(fd, true); err != nil {
		return os.Stdin
	}
	return os.NewFile(uintptr(fd), os.Stdin.Name())
}
