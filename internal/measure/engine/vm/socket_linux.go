package vm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// socketPair returns a listening socket and one that is connected to it, for a program that calls accept. Its name in dir
// is removed already, so no other process can connect.
func socketPair(dir string) (listening, connected *os.File, err error) {
	folder, err := eintr.Value(func() (int, error) { return unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(folder)
	// A socket's path has 107 bytes at most; a state folder's path may be longer.
	addr := &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/share", folder)}
	defer os.Remove(filepath.Join(dir, "share"))
	for _, f := range []**os.File{&listening, &connected} {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, nil, errors.Join(err, listening.Close())
		}
		*f = os.NewFile(uintptr(fd), "share")
		if f == &listening {
			err = unix.Bind(fd, addr)
			if err == nil {
				err = unix.Listen(fd, 1)
			}
		} else {
			err = unix.Connect(fd, addr)
		}
		if err != nil {
			listening.Close()
			connected.Close()
			return nil, nil, err
		}
	}
	return listening, connected, nil
}
