// Package inroot opens paths inside of a container.
//
// It reaches a container's file system through /proc/PID/root. The container's owner may put links there: one that begins with a
// slash would lead out of it, to the host's file of that name. Here no link leads out.
package inroot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// Dir opens the folder dir of root for reading (openat2(2), Linux 5.6). root is trusted.
func Dir(root, dir string) (*os.File, error) {
	return open(root, dir, unix.O_RDONLY|unix.O_DIRECTORY)
}

// Of opens the root of a process, as the host sees it.
func Of(pid int) string { return filepath.Join("/proc", strconv.Itoa(pid), "root") }

// MountID returns the number of the mount that a file or folder of root is in, as in mountinfo (proc_pid_fdinfo(5)).
func MountID(root, path string) (int, error) {
	f, err := open(root, path, unix.O_PATH)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return MountOf(f)
}

// MountOf returns the number of the mount that an open file or folder is in.
func MountOf(f *os.File) (int, error) {
	b, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(int(f.Fd())))
	if err != nil {
		return 0, err
	}
	return mountID(string(b))
}

// Link returns the text of the symbolic link at a path of root, "" for anything else. Links before the last name are followed, and
// don't lead out of root.
func Link(root, path string) (string, error) {
	f, err := open(root, path, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", err
	}
	b := make([]byte, unix.PathMax)
	n, err := eintr.Value(func() (int, error) { return unix.Readlinkat(int(f.Fd()), "", b) })
	if err != nil {
		return "", &os.PathError{Op: "read the link", Path: path, Err: err}
	}
	return string(b[:n]), nil
}

// Free returns how many bytes may still be written to the file system of the folder dir of root.
func Free(root, dir string) (int64, error) {
	f, err := Dir(root, dir)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var fs unix.Statfs_t
	if err := eintr.Retry(func() error { return unix.Fstatfs(int(f.Fd()), &fs) }); err != nil {
		return 0, &os.PathError{Op: "free space of", Path: dir, Err: err}
	}
	return int64(fs.Bavail) * fs.Bsize, nil
}

func open(root, path string, flags uint64) (*os.File, error) {
	fd, err := eintr.Value(func() (int, error) { return unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &os.PathError{Op: "open the container's root", Path: root, Err: err}
	}
	defer unix.Close(fd)
	how := &unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	in, err := -1, error(unix.EAGAIN) // A part of the path was renamed meanwhile: openat2(2).
	for err == unix.EAGAIN {
		in, err = eintr.Value(func() (int, error) { return unix.Openat2(fd, path, how) })
	}
	if errors.Is(err, unix.ENOSYS) {
		return nil, fmt.Errorf("%s in a container: the kernel is older than 5.6 and can't keep links from leading out of it", path)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open in the container", Path: path, Err: err}
	}
	return os.NewFile(uintptr(in), path), nil
}
