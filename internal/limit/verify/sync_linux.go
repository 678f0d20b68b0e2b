package verify

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncFS has the kernel's flusher write back the file system that f is on, and waits for it (syncfs(2)). The
// writing is the flusher's, not this process's.
func syncFS(f *os.File) error {
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return &os.PathError{Op: "syncfs", Path: f.Name(), Err: err}
	}
	return nil
}
