package loop

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/device"
)

// Find opens the loop device of an open file, for reading. It returns nil if the file has none. While the result is open the device
// stays. The file is compared by its number: its path may lead to another file by now, or be that of another mount namespace.
//
// Opening each of thousands of devices takes seconds on a busy machine. So those whose file has another last name are left out. The
// kernel knows the present name, unless the file has several.
func Find(f *os.File) (*os.File, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, &os.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	key := [2]uint64{st.Dev, st.Ino}
	if last, ok := found.Load(key); ok {
		if d, err := boundTo(last.(string), f, &st); d != nil || err != nil {
			return d, err
		}
		found.Delete(key)
	}
	bound, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return nil, err
	}
	name := nameOf(f)
	for _, file := range bound {
		if b, err := os.ReadFile(file); err != nil || st.Nlink <= 1 && baseOf(string(b)) != name {
			continue
		}
		d, err := boundTo(device.NodePath(filepath.Base(filepath.Dir(filepath.Dir(file)))), f, &st)
		if d != nil {
			found.Store(key, d.Name())
		}
		if d != nil || err != nil {
			return d, err
		}
	}
	return nil, nil
}

// found has the path of the device on which a file was found last, by its device and inode. It is looked at first: the look at all devices takes milliseconds, and a
// daemon asks for each volume every second.
var found sync.Map

// boundTo opens the device at a path, and returns nil if it isn't that of the file.
func boundTo(path string, f *os.File, st *unix.Stat_t) (*os.File, error) {
	d, err := os.Open(path)
	if errors.Is(err, unix.ENXIO) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil // It is being detached.
	}
	if err != nil {
		return nil, err
	}
	info, err := unix.IoctlLoopGetStatus64(int(d.Fd()))
	switch {
	case err != nil || info.Device != st.Dev || info.Inode != st.Ino:
		return nil, d.Close()
	case info.Offset != 0 || info.Sizelimit != 0 || info.Flags&unix.LO_FLAGS_READ_ONLY != 0:
		return nil, errors.Join(fmt.Errorf("another program has attached %s to %s, read-only or in part: detach it with losetup --detach %[2]s", f.Name(), d.Name()), d.Close())
	}
	return d, nil
}

// nameOf returns the present last name of an open file.
func nameOf(f *os.File) string {
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
	if err != nil {
		path = f.Name()
	}
	return baseOf(path)
}

// baseOf returns the last name in a path of the kernel's, without its mark of a file that was removed. A newline may end it.
func baseOf(path string) string {
	return filepath.Base(strings.TrimSuffix(strings.TrimSuffix(path, "\n"), " (deleted)"))
}

// Number returns the number of an open device.
func Number(d *os.File) (device.Number, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(d.Fd()), &st); err != nil {
		return device.Number{}, &os.PathError{Op: "stat", Path: d.Name(), Err: err}
	}
	return device.NumberOf(st.Rdev), nil
}

// Direct reports whether a device bypasses the page cache of its file.
func Direct(path string) bool { return attribute(path, "dio") == "1" }

// File returns the path of a device's file as the kernel knows it, "" if the device is detached.
func File(path string) string { return attribute(path, "backing_file") }

// Refresh gives an open device the present size of its file.
func Refresh(d *os.File) error {
	if err := unix.IoctlSetInt(int(d.Fd()), unix.LOOP_SET_CAPACITY, 0); err != nil {
		return fmt.Errorf("give %s the size of its file: %w", d.Name(), err)
	}
	return nil
}

// attribute reads a file of the device's folder in sysfs.
func attribute(path, name string) string {
	b, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(path), "loop", name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
