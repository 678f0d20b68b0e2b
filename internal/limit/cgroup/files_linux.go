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

// kernel reads and writes control files with bare system calls. An os.File would register each file with the poller,
// which takes longer than everything else.
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

// removed reports whether the group of an open file was removed. A living group's file can be read by its path, and
// is the same file.
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
		return true // A new group has the path.
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
			// ENODEV here means a removed group: reading limits never fails for a missing disk.
			return nil, vanished{"read", path}
		}
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		buf = buf[:len(buf)+n]
		// A file of limits is one record, which the kernel returns whole (seq_read_iter in fs/seq_file.c), so a short
		// read is its end; another read would cost a tenth of a reconcile. cgroup.procs, which has a record for each
		// process, is not read here.
		if len(buf) < cap(buf) {
			return buf, nil
		}
	}
}

func (kernel) write(path, text string) error {
	// Control files ignore truncation; the plain files of test fixtures need it.
	fd, err := open(path, unix.O_WRONLY|unix.O_TRUNC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	n, err := eintr.Value(func() (int, error) { return unix.Write(fd, []byte(text)) })
	switch {
	case err == unix.ENODEV && removed(fd, path):
		// ENODEV may also be about the disk.
		return vanished{"write", path}
	case err != nil:
		return &fs.PathError{Op: "write", Path: path, Err: err}
	case n != len(text):
		return &fs.PathError{Op: "write", Path: path, Err: fmt.Errorf("%w: %d of %d bytes", io.ErrShortWrite, n, len(text))}
	default:
		return nil
	}
}

// groups checks the number of links first: a group without groups below has two, and most groups have none.
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
