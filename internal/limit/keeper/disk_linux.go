package keeper

import (
	"bytes"
	"context"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// disksSettle is how long disks are waited for that come together, and disksPause how long others are let wait after that.
const (
	disksSettle = 300 * time.Millisecond
	disksPause  = 2 * time.Second
)

// diskEvents reports which block devices have come, gone or changed, by number: the kernel says so in its messages to udev
// (lib/kobject_uevent.c). nil stands for all. There is no channel where this user may not listen; then disks are
// found by and by.
func diskEvents(ctx context.Context) <-chan map[string]bool {
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
	out := make(chan map[string]bool)
	go func() {
		buf := make([]byte, 16<<10)
		for {
			n, err := file.Read(buf)
			if ctx.Err() != nil {
				return
			}
			d := diskOf(buf[:max(n, 0)])
			if err == nil && d == "" {
				continue
			}
			disks := map[string]bool{d: true}
			if !pause(ctx, disksSettle) {
				return
			}
			for {
				// What came meanwhile is one with it.
				n := readNow(file, buf)
				if n <= 0 {
					break
				}
				if d := diskOf(buf[:n]); d != "" {
					disks[d] = true
				}
			}
			if err != nil {
				disks = nil // There were more than the socket takes (ENOBUFS).
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

// readNow reads what is there of a file that doesn't block, and waits for nothing: it returns 0 or less where there is nothing, and where
// the file is closed, as its descriptor may be another's by then.
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

// diskOf is the number of the block device that a message is about, "" if it is about something else.
func diskOf(b []byte) string {
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
		return ""
	}
	return major + ":" + minor
}

// pause waits, and reports whether ctx goes on.
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
