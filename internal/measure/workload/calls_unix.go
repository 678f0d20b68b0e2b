//go:build unix

package workload

import (
	"os"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// Workloads that measure system calls open, write and close files with exactly these calls. An os.File is also registered
// with Go's poller, with four calls of fcntl and two of epoll_ctl, which made an append take 1.6 times as long.

// A file is an open file that is used through these calls alone.
type file struct {
	fd   int
	path string
}

func openFile(path string, flags int) (file, error) {
	fd, err := eintr.Value(func() (int, error) { return unix.Open(path, flags|unix.O_CLOEXEC, 0o644) })
	if err != nil {
		return file{}, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return file{fd, path}, nil
}

func (f file) read(p []byte) (int, error) {
	n, err := eintr.Value(func() (int, error) { return unix.Read(f.fd, p) })
	return max(n, 0), f.failed("read", err)
}

// write writes all of p at the file's position.
func (f file) write(p []byte) error {
	return f.all(p, func(p []byte, _ int64) (int, error) {
		return eintr.Value(func() (int, error) { return unix.Write(f.fd, p) })
	}, 0)
}

func (f file) writeAt(p []byte, off int64) error {
	return f.all(p, func(p []byte, off int64) (int, error) {
		return eintr.Value(func() (int, error) { return unix.Pwrite(f.fd, p, off) })
	}, off)
}

func (f file) all(p []byte, call func([]byte, int64) (int, error), off int64) error {
	for len(p) > 0 {
		n, err := call(p, off)
		if err != nil {
			return f.failed("write", err)
		}
		p, off = p[n:], off+int64(n)
	}
	return nil
}

// datasync is fdatasync(2), on systems that have it.
func (f file) datasync() error { return f.failed("fdatasync", fdatasync(f.fd)) }

// close isn't repeated after a signal: the file is closed even then.
func (f file) close() error { return f.failed("close", unix.Close(f.fd)) }

func (f file) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: f.path, Err: err}
}
