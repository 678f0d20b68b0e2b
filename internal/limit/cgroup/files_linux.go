package cgroup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// kernel reads and writes control files with bare system calls. An os.File would register each
// file with the poller, which takes longer than all the rest.
type kernel struct{}

func open(path string, flags int) (fd int, err error) {
	fd, err = eintr.Value(func() (int, error) { return unix.Open(path, flags|unix.O_CLOEXEC, 0) })
	switch err {
	case nil:
		return fd, nil
	case unix.ENODEV:
		return -1, vanished{"open", path}
	default:
		return -1, &fs.PathError{Op: "open", Path: path, Err: err}
	}
}

// removed reports whether the file behind a descriptor, or the one that has its name by now, shows that its group was removed. A living
// group's can be read, by its name, and is the same.
func removed(fd int, path string) bool {
	again, err := open(path, unix.O_RDONLY)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer unix.Close(again)
	var was, is unix.Stat_t
	if unix.Fstat(fd, &was) != nil || unix.Fstat(again, &is) != nil {
		return false
	}
	if was.Dev != is.Dev || was.Ino != is.Ino {
		return true // The group was made anew.
	}
	_, err = eintr.Value(func() (int, error) { return unix.Read(again, make([]byte, 1)) })
	return err == unix.ENODEV
}

func (kernel) read(path string, buf []byte) ([]byte, error) {
	fd, err := open(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buf = buf[:0]
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, make([]byte, max(512, cap(buf)))...)[:len(buf)]
		}
		n, err := eintr.Value(func() (int, error) { return unix.Read(fd, buf[len(buf):cap(buf)]) })
		if err == unix.ENODEV {
			// No reader of limits is told of a disk that isn't there.
			return nil, vanished{"read", path}
		}
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		buf = buf[:len(buf)+n]
		// A file of limits is one record, which the kernel shows as a whole (seq_read_iter in
		// fs/seq_file.c), so that a short read is its end; asking once more would cost a tenth of a
		// reconcile. cgroup.procs, which has a record for each process, is not read here.
		if len(buf) < cap(buf) {
			return buf, nil
		}
	}
}

func (kernel) write(path, text string) error {
	// Truncating means nothing to a control file, and everything to the plain file of a fixture.
	fd, err := open(path, unix.O_WRONLY|unix.O_TRUNC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	n, err := eintr.Value(func() (int, error) { return unix.Write(fd, []byte(text)) })
	switch {
	case err == unix.ENODEV && removed(fd, path):
		// It may be said of the disk as well.
		return vanished{"write", path}
	case err != nil:
		return &fs.PathError{Op: "write", Path: path, Err: err}
	case n != len(text):
		return &fs.PathError{Op: "write", Path: path, Err: fmt.Errorf("%w: %d of %d bytes", io.ErrShortWrite, n, len(text))}
	default:
		return nil
	}
}

// groups looks at the number of links first: a group that has none below it has two, and
// most have none.
func (kernel) groups(dir string) ([]string, error) {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: dir, Err: err}
	}
	if st.Nlink == 2 {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
