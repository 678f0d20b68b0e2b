package loopdisk

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
	"plimsoll/internal/host/loop"
)

// reserve allocates all the space of a file of size bytes, if its file system can.
func reserve(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := eintr.Retry(func() error { return unix.Fallocate(int(f.Fd()), 0, 0, size) }); err != nil {
		if !errors.Is(err, unix.EOPNOTSUPP) {
			return &os.PathError{Op: "fallocate", Path: path, Err: err}
		}
	}
	return nil
}

// attach mounts an image through a free loop device, which is detached at the unmount.
func attach(image, dir string) error {
	f, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	d, err := loop.Attach(f)
	if err != nil {
		return err
	}
	defer d.Close() // Without a mount the device is free again.
	if err := unix.Mount(d.Name(), dir, "ext4", 0, ""); err != nil {
		return fmt.Errorf("mount %s on %s: %w", d.Name(), dir, err)
	}
	return nil
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
