package load

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// canTrim returns an error unless the file is a block device, the only kind that supports BLKDISCARD. Punching a hole
// in a regular file is a different operation, which fio doesn't do either.
func canTrim(path string) error {
	st, err := os.Stat(path)
	if err == nil && st.Mode().Type() != os.ModeDevice {
		err = fmt.Errorf("%s is not a block device, and only those can be trimmed: %w", path, errors.ErrUnsupported)
	}
	return err
}

// discard trims the slot's whole block, with BLKDISCARD (include/uapi/linux/fs.h of the kernel).
func (t *target) discard(s *slot) int32 {
	r := [2]uint64{uint64(s.off), uint64(s.size)}
	if _, _, errno := syscall.Syscall(unix.SYS_IOCTL, uintptr(t.fd), unix.BLKDISCARD, uintptr(unsafe.Pointer(&r))); errno != 0 {
		return -int32(errno)
	}
	return int32(s.size)
}
