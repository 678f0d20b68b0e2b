package device

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The ioctl of the device mapper is described in <linux/dm-ioctl.h>.
const (
	dmControl     = "/dev/mapper/control"
	dmTableStatus = 0xc138fd0c // _IOWR(0xfd, 12, struct dm_ioctl)
	dmHeader      = 312        // sizeof(struct dm_ioctl)
	dmSpec        = 40         // sizeof(struct dm_target_spec)
	dmBufferFull  = 1 << 8
	// dmNoFlush keeps the kernel from writing a thin pool's metadata before it reports the status.
	dmNoFlush = 1 << 11
	dmMost    = 1 << 20
)

// targets asks the kernel for the targets of a device of the device mapper. This needs root. It asks for the status and not for the
// table, because the table of an encrypted device holds its key.
func targets(n Number) ([]Target, error) {
	fd, err := unix.Open(dmControl, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dmControl, err)
	}
	defer unix.Close(fd)
	for size := 16 << 10; size <= dmMost; size *= 4 {
		buf := make([]byte, size)
		e := binary.NativeEndian
		e.PutUint32(buf[0:], 4) // The version: major 4, and any minor.
		e.PutUint32(buf[12:], uint32(size))
		e.PutUint32(buf[16:], dmHeader)
		e.PutUint32(buf[28:], dmNoFlush)
		e.PutUint64(buf[40:], unix.Mkdev(n.Major, n.Minor))
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), dmTableStatus, uintptr(unsafe.Pointer(&buf[0]))); errno != 0 {
			return nil, fmt.Errorf("device mapper %s: %w", n, errno)
		}
		if e.Uint32(buf[28:])&dmBufferFull == 0 {
			return parseTargets(buf[e.Uint32(buf[16:]):], int(e.Uint32(buf[20:])))
		}
	}
	return nil, fmt.Errorf("device mapper %s: its status has over %d bytes", n, dmMost)
}

// parseTargets reads count records of struct dm_target_spec, each followed by a line of status. It lists each kind of target once.
func parseTargets(b []byte, count int) ([]Target, error) {
	var list []Target
	seen := map[Target]bool{}
	for at := 0; count > 0; count-- {
		if at < 0 || at+dmSpec > len(b) {
			return nil, errors.New("device mapper: a target beyond the answer")
		}
		// next is counted from the first record.
		next := int(binary.NativeEndian.Uint32(b[at+20:]))
		name, _, _ := bytes.Cut(b[at+24:at+dmSpec], []byte{0})
		status, _, _ := bytes.Cut(b[at+dmSpec:], []byte{0})
		t := Target{Type: string(name)}
		if t.Type == "raid" {
			t.Level, _, _ = strings.Cut(string(status), " ")
		}
		if !seen[t] {
			seen[t] = true
			list = append(list, t)
		}
		if count > 1 && next <= at {
			return nil, errors.New("device mapper: targets in a circle")
		}
		at = next
	}
	return list, nil
}
