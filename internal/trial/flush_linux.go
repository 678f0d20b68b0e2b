package trial

import (
	"os"

	"golang.org/x/sys/unix"
)

// openFolder opens a folder, and nothing else: a named pipe in its place would be waited for.
func openFolder(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
}

// syncFS has the kernel write back the file system that f is on, and waits for it (syncfs(2)).
func syncFS(f *os.File) error {
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return &os.PathError{Op: "syncfs", Path: f.Name(), Err: err}
	}
	return nil
}
