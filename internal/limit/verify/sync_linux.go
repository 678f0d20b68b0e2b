package verify

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncFS has the kernel's flusher write back the file system that f is on, and waits for it (syncfs(2)). The
// writing is the flusher's, not this process's.
func syncFS(f *os.File) { _ = unix.Syncfs(int(f.Fd())) }
