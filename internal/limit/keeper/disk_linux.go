package keeper

import (
	"bytes"
	"context"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/eintr"
)

// disksSettle is the wait for disks that come together, and disksPause the pause before the next ones are handled.
const (
	disksSettle = 300 * time.Millisecond
	disksPause  = 2 * time.Second
)

// diskEvents reports the numbers of block devices that have come, gone or changed, from the kernel's messages to udev
// (lib/kobject_uevent.c). nil stands for all. The channel is nil if this user may not listen; disks are then found by
// the regular checks.
func diskEvents(ctx context.Context) <-chan map[device.Number]bool {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return nil
	}
	// Group 1 is the kernel's messages, group 2 udev's.
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1}); err != nil {
		unix.Close(fd)
		return nil
	}
	file := os.NewFile(uintptr(fd), "uevents")
	context.AfterFunc(ctx, func() { file.Close() })
	out := make(chan map[device.Number]bool)
	go func() {
		buf := make([]byte, 16<<10)
		for {
			n, err := file.Read(buf)
			if ctx.Err() != nil {
				return
			}
			d := diskOf(buf[:max(n, 0)])
			if err == nil && d.IsZero() {
				continue
			}
			disks := map[device.Number]bool{d: true}
			if !pause(ctx, disksSettle) {
				return
			}
			for {
				// Messages that have come meanwhile are handled with this one.
				n := readNow(file, buf)
				if n <= 0 {
					break
				}
				if d := diskOf(buf[:n]); !d.IsZero() {
					disks[d] = true
				}
			}
			if err != nil {
				disks = nil // Messages were lost (ENOBUFS).
			}
			select {
			case out <- disks:
			case <-ctx.Done():
				return
			}
			if !pause(ctx, disksPause) {
				return
			}
		}
	}()
	return out
}

// readNow reads from a non-blocking file without waiting: it returns 0 or less if there is nothing, or if the file is
// closed, as another file may have its descriptor by then.
func readNow(file *os.File, buf []byte) (n int) {
	conn, err := file.SyscallConn()
	if err != nil {
		return 0
	}
	err = conn.Read(func(fd uintptr) bool {
		n, _ = eintr.Value(func() (int, error) { return unix.Read(int(fd), buf) })
		return true
	})
	if err != nil {
		return 0
	}
	return n
}

// diskOf is the number of the block device in a message, zero for other messages.
func diskOf(b []byte) device.Number {
	var major, minor string
	block := false
	for word := range bytes.SplitSeq(b, []byte{0}) {
		key, value, _ := strings.Cut(string(word), "=")
		switch key {
		case "SUBSYSTEM":
			block = value == "block"
		case "MAJOR":
			major = value
		case "MINOR":
			minor = value
		}
	}
	if !block {
		return device.Number{}
	}
	n, _ := device.ParseNumber(major + ":" + minor)
	return n
}

// pause waits, and reports whether ctx is still alive.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
