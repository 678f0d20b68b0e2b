package keeper

import (
	"bytes"
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// disksSettle is how long disks are waited for that come together.
const disksSettle = 300 * time.Millisecond

// diskEvents tells when a block device has come, gone or changed: the kernel says so in its messages to udev
// (lib/kobject_uevent.c). nil where this user may not listen; then disks are found by and by.
func diskEvents(ctx context.Context) <-chan struct{} {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return nil
	}
	// Group 1 is the kernel's own; 2 is udev's.
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1}); err != nil {
		unix.Close(fd)
		return nil
	}
	file := os.NewFile(uintptr(fd), "uevents")
	context.AfterFunc(ctx, func() { file.Close() })
	out := make(chan struct{})
	go func() {
		buf := make([]byte, 16<<10)
		for {
			n, err := file.Read(buf)
			if ctx.Err() != nil {
				return
			}
			// An overflow (ENOBUFS) means that there were many.
			if err == nil && !bytes.Contains(buf[:n], []byte("\x00SUBSYSTEM=block\x00")) {
				continue
			}
			select {
			case <-time.After(disksSettle):
			case <-ctx.Done():
				return
			}
			for {
				// What came meanwhile is one with it.
				if n, err := unix.Read(fd, buf); err != nil || n <= 0 {
					break
				}
			}
			select {
			case out <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}
