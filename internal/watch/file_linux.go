package watch

import (
	"io/fs"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// readFile reads a file into buf, or a larger one. It calls the kernel directly: an os.File would register each with the
// poller, which takes longer than to read it.
func readFile(path string, buf []byte) ([]byte, error) {
	fd, err := eintr.Value(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	buf = buf[:0]
	for {
		if cap(buf)-len(buf) < 512 {
			buf = append(buf, make([]byte, max(4096, cap(buf)))...)[:len(buf)]
		}
		n, err := eintr.Value(func() (int, error) { return unix.Read(fd, buf[len(buf):cap(buf)]) })
		switch {
		case err != nil:
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		case n == 0:
			return buf, nil
		default:
			buf = buf[:len(buf)+n]
		}
	}
}
