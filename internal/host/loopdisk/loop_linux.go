package loopdisk

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// reserve makes a file with all of its space allocated.
func reserve(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := eintr.Retry(func() error { return unix.Fallocate(int(f.Fd()), 0, 0, size) }); err != nil {
		if !errors.Is(err, unix.EOPNOTSUPP) {
			return &os.PathError{Op: "fallocate", Path: path, Err: err}
		}
		return f.Truncate(size)
	}
	return nil
}

// attachTries bounds how often another process may take the free loop device first.
const attachTries = 20

// attach mounts an image through a free loop device, which is detached at the unmount.
func attach(image, dir string) error {
	loop, err := Open(image)
	if err != nil {
		return err
	}
	defer loop.Close() // Without a mount the device is free again.
	if err := unix.Mount(loop.Name(), dir, "ext4", 0, ""); err != nil {
		return fmt.Errorf("mount %s on %s: %w", loop.Name(), dir, err)
	}
	return nil
}

// Open attaches a file to a free loop device, with direct I/O if the file's file system has that. The name of the result
// is the device's path. The kernel detaches the device when nothing has it open or mounted any more
// (LO_FLAGS_AUTOCLEAR). So it doesn't outlive a process that is killed, and needs no record.
func Open(image string) (*os.File, error) {
	f, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("there is no loop device: %w", err)
	}
	defer control.Close()
	for range attachTries {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("no loop device is free: %w", err)
		}
		path := "/dev/loop" + strconv.Itoa(n)
		loop, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return nil, fmt.Errorf("the free loop device can't be opened: %w", err)
		}
		// Since Linux 5.8 (LOOP_CONFIGURE in include/uapi/linux/loop.h).
		config := unix.LoopConfig{Fd: uint32(f.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR | unix.LO_FLAGS_DIRECT_IO}}
		err = unix.IoctlLoopConfigure(int(loop.Fd()), &config)
		if err == nil {
			return loop, nil
		}
		loop.Close()
		if !errors.Is(err, unix.EBUSY) {
			return nil, fmt.Errorf("attach %s to %s: %w", image, path, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil, errors.New("other processes took every free loop device")
}

// detachWait is how long a container that has just ended may hold a mount.
const detachWait = 5 * time.Second

// detach unmounts dir, if it is mounted.
func detach(dir string) error {
	err := unix.Unmount(dir, unix.UMOUNT_NOFOLLOW)
	for end := time.Now().Add(detachWait); errors.Is(err, unix.EBUSY) && time.Now().Before(end); err = unix.Unmount(dir, unix.UMOUNT_NOFOLLOW) {
		time.Sleep(20 * time.Millisecond)
	}
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		return nil // Not mounted.
	}
	if err != nil {
		return &os.PathError{Op: "unmount", Path: dir, Err: err}
	}
	return nil
}
