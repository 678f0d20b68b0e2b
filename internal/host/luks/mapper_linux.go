package luks

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/eintr"
)

const (
	// prefix begins the names of devices.
	prefix = "plimsoll-"
	// changeWait is how long a device may take to appear or to go. udev may look at it meanwhile.
	changeWait = 10 * time.Second
)

// Name is the name of the device of an open file. It follows from the file's number, so the device is found whatever the file's path is.
func Name(f *os.File) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return "", &os.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return fmt.Sprintf("%s%x-%d", prefix, st.Dev, st.Ino), nil
}

// Path is the path of a device, which is also the source of its mounts.
func Path(name string) string { return "/dev/mapper/" + name }

// NameOf returns the name of a device of this package by any of its paths, and "" for another device.
func NameOf(path string) string {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return ""
	}
	return nameIn(filepath.Join("/sys/dev/block", device.NumberOf(st.Rdev).String()))
}

// nameIn reads the name of a device from its folder in sysfs.
func nameIn(folder string) string {
	if name := device.Text(folder, "dm", "name"); strings.HasPrefix(name, prefix) {
		return name
	}
	return ""
}

// Below returns the path of the loop device below the device of a name, "" if there is none.
func Below(name string) string {
	folders, _ := filepath.Glob("/sys/block/dm-*")
	for _, folder := range folders {
		if nameIn(folder) != name {
			continue
		}
		if below, _ := filepath.Glob(filepath.Join(folder, "slaves", "loop*")); len(below) > 0 {
			return device.NodePath(filepath.Base(below[0]))
		}
	}
	return ""
}

// Find opens the device on a loop device, for reading. It returns nil if the loop device isn't open. While the result is open the device
// stays.
func Find(ctx context.Context, loop *os.File, name string) (*os.File, error) {
	holders := filepath.Join("/sys/block", filepath.Base(loop.Name()), "holders", "*")
	for end := time.Now().Add(changeWait); ; time.Sleep(time.Millisecond) {
		found, _ := filepath.Glob(holders)
		if len(found) == 0 {
			return nil, nil
		}
		if is := device.Text(found[0], "dm", "name"); is != name && is != "" {
			return nil, fmt.Errorf("another program has opened %s as %s: close it first (cryptsetup close %[2]s)", loop.Name(), is)
		}
		d, err := hold(found[0], name)
		if d != nil || err != nil {
			return d, err
		}
		if ctx.Err() != nil || time.Now().After(end) {
			return nil, errors.Join(fmt.Errorf("%s is neither complete nor gone: close it (cryptsetup close %s)", Path(name), name), ctx.Err())
		}
	}
}

// On returns the device on an open loop device of a file, for reading, with the kernel's name for it; nil while there is none. If the file isn't encrypted, that is
// the loop device itself. It neither waits nor marks anything, and closes the loop device unless it is the result: what is open on it keeps it.
func On(loop, file *os.File) (*os.File, error) {
	_, encrypted, err := ReadHeader(file)
	if err == nil && !encrypted {
		return loop, nil
	}
	defer loop.Close()
	if err != nil {
		return nil, err
	}
	name, err := Name(file)
	if err != nil {
		return nil, err
	}
	folders, _ := filepath.Glob(filepath.Join("/sys/block", filepath.Base(loop.Name()), "holders", "*"))
	if len(folders) != 1 || device.Text(folders[0], "dm", "name") != name {
		return nil, nil
	}
	var fd int
	err = eintr.Retry(func() (err error) {
		fd, err = unix.Open(Path(name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENXIO) {
		return nil, nil // It goes.
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: Path(name), Err: err}
	}
	d := os.NewFile(uintptr(fd), device.NodePath(filepath.Base(folders[0])))
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || device.NumberOf(st.Rdev).String() != device.Text(folders[0], "dev") {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// hold opens the device whose folder in sysfs is given, and marks it. It returns nil while the device appears or goes.
func hold(folder, name string) (*os.File, error) {
	d, err := os.Open(Path(name))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENXIO) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	err = unix.Fstat(int(d.Fd()), &st)
	// Without udev the name of an earlier device may be there.
	if err != nil || device.NumberOf(st.Rdev).String() != device.Text(folder, "dev") || device.Text(folder, "size") == "0" {
		return nil, errors.Join(err, d.Close())
	}
	if err := closeLater(name); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Close ends the use of an open device. If it was the last one, the device is gone afterwards, and its loop device free.
func Close(d *os.File) error {
	name := NameOf(d.Name())
	err := d.Close()
	if name == "" {
		return err
	}
	err = errors.Join(err, closeLater(name))
	Forget(name)
	return err
}

// Of struct dm_ioctl and its requests.
const (
	removeDevice = 0xc138fd04 // _IOWR(0xfd, 4, struct dm_ioctl), DM_DEV_REMOVE
	deferred     = 1 << 17    // DM_DEFERRED_REMOVE, since Linux 3.13
	requestSize  = 312
)

// closeLater marks a device to be removed with its last user: now if it has none. If there is none of that name, nothing happens.
func closeLater(name string) error {
	f, err := os.OpenFile("/dev/mapper/control", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	b := make([]byte, requestSize)
	e := binary.NativeEndian
	e.PutUint32(b, 4) // The version: major 4, and any minor.
	e.PutUint32(b[12:], requestSize)
	e.PutUint32(b[28:], deferred)
	copy(b[48:48+127], name)
	err = eintr.Retry(func() error {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), removeDevice, uintptr(unsafe.Pointer(&b[0]))); errno != 0 {
			return errno
		}
		return nil
	})
	if err != nil && !errors.Is(err, unix.ENXIO) {
		return fmt.Errorf("mark %s to be closed with its last user: %w", Path(name), err)
	}
	return nil
}

// Sweep closes the devices of killed processes whose loop device is one of those for which is returns true. Those in use stay until
// their last user ends, as is right for them anyway.
func Sweep(is func(loop string) bool) (closed []string, err error) {
	folders, _ := filepath.Glob("/sys/block/dm-*")
	for _, folder := range folders {
		name := nameIn(folder)
		if name == "" {
			continue
		}
		loop := Below(name)
		if loop == "" || !is(loop) {
			continue
		}
		err = errors.Join(err, closeLater(name))
		if Below(name) == "" {
			Forget(name)
			closed = append(closed, Path(name))
		}
	}
	return closed, err
}

// Forget removes the name of a device that is gone. udev does that where there is one, and then the name is a link.
func Forget(name string) {
	st, err := os.Lstat(Path(name))
	if err == nil && st.Mode()&fs.ModeDevice != 0 && NameOf(Path(name)) != name {
		os.Remove(Path(name))
	}
}
