package image

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// fiemap is FS_IOC_FIEMAP, and the others are flags of an extent: include/uapi/linux/fiemap.h.
const (
	fiemap       = 0xC020660B
	extentLast   = 0x1
	extentShared = 0x2000
)

// extentMax is how many extents one call returns.
const extentMax = 256

// An extent is a part of a file that is on the disk: struct fiemap_extent.
type extent struct {
	logical, physical, length uint64
	_                         [2]uint64
	flags                     uint32
	_                         [3]uint32
}

// An extentMap is struct fiemap.
type extentMap struct {
	start, length uint64
	flags, mapped uint32
	count, _      uint32
	extents       [extentMax]extent
}

// Own returns how many bytes of a file no other file shares: what its removal frees. It wants a file system with FIEMAP.
func Own(path string) (n int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	err = extents(f, func(e extent) {
		if e.flags&extentShared == 0 {
			n += int64(e.length)
		}
	})
	return n, err
}

// extents calls do for each extent of a file, in order.
func extents(f *os.File, do func(extent)) error {
	m := new(extentMap)
	for start, last := uint64(0), false; !last; {
		*m = extentMap{start: start, length: ^uint64(0) - start, count: extentMax}
		err := eintr.Retry(func() error {
			if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), fiemap, uintptr(unsafe.Pointer(m))); errno != 0 {
				return errno
			}
			return nil
		})
		if err != nil {
			return &os.PathError{Op: "fiemap", Path: f.Name(), Err: err}
		}
		last = m.mapped == 0
		for _, e := range m.extents[:m.mapped] {
			do(e)
			start, last = e.logical+e.length, e.flags&extentLast != 0
		}
	}
	return nil
}
