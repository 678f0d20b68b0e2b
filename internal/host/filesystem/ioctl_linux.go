package filesystem

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// Requests of ioctl(2): include/uapi/linux/fs.h, ext4.h, btrfs.h, and fs/xfs/libxfs/xfs_fs.h.
const (
	fiFreeze      = 0xC0045877
	fiThaw        = 0xC0045878
	fiTrim        = 0xC0185879
	ext4Resize    = 0x40086610
	xfsGeometryV1 = 0x80705864
	xfsGrowData   = 0x4010586E
	btrfsResize   = 0x50009403
)

// call is an ioctl with a pointer.
func call(f *os.File, request uintptr, arg unsafe.Pointer) error {
	return eintr.Retry(func() error {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), request, uintptr(arg)); errno != 0 {
			return errno
		}
		return nil
	})
}

// A btrfsArgs is struct btrfs_ioctl_vol_args.
type btrfsArgs struct {
	fd   int64
	name [4088]byte
}

// leastBtrfs is the least size that the kernel gives a btrfs (btrfs_ioctl_resize).
const leastBtrfs = 256 << 20

// CheckGrow refuses a size that the kernel wouldn't give a file system of a kind.
func CheckGrow(kind Kind, size int64) error {
	if kind == Btrfs && size < leastBtrfs {
		return errors.New("btrfs grows to 256 MiB or more")
	}
	return nil
}

// MayGrow reports whether this process may grow a mounted file system. The kernel wants CAP_SYS_RESOURCE for an ext4
// (ext4_resize_begin), which root lacks in many containers.
func MayGrow(kind Kind) bool {
	if kind != Ext4 {
		return true
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	err := unix.Capget(&header, &data[0])
	return err != nil || data[0].Effective&(1<<unix.CAP_SYS_RESOURCE) != 0
}

// Grow makes the file system as large as its device, of size bytes. If it is that already, nothing happens.
func (t *Tree) Grow(size int64) error {
	var err error
	switch t.kind {
	case XFS:
		err = t.growXFS(size)
	case Btrfs:
		var a btrfsArgs
		copy(a.name[:], "1:max")
		err = call(t.File, btrfsResize, unsafe.Pointer(&a))
	default:
		err = t.growExt4(size)
	}
	if errors.Is(err, unix.EROFS) {
		return fmt.Errorf("grow the %s of %s: it is read-only: the kernel may have found it damaged", t.kind, t.Name())
	}
	if err != nil {
		return fmt.Errorf("grow the %s of %s: %w", t.kind, t.Name(), err)
	}
	return nil
}

func (t *Tree) growExt4(size int64) error {
	var s unix.Statfs_t
	if err := eintr.Retry(func() error { return unix.Fstatfs(int(t.Fd()), &s) }); err != nil {
		return err
	}
	blocks := uint64(size / s.Bsize)
	return call(t.File, ext4Resize, unsafe.Pointer(&blocks))
}

// A xfsGeometry is struct xfs_fsop_geom_v1.
type xfsGeometry struct {
	blockSize, _, agBlocks, _, _, _, _ uint32
	inodePercent                       uint32
	blocks                             uint64
	_                                  [72]byte
}

// xfsLeastGroup is XFS_MIN_AG_BLOCKS: a last part that is smaller isn't used.
const xfsLeastGroup = 64

func (t *Tree) growXFS(size int64) error {
	var g xfsGeometry
	if err := call(t.File, xfsGeometryV1, unsafe.Pointer(&g)); err != nil {
		return err
	}
	blocks := uint64(size) / uint64(g.blockSize)
	if rest := blocks % uint64(g.agBlocks); rest < xfsLeastGroup {
		blocks -= rest
	}
	if blocks <= g.blocks {
		return nil
	}
	a := struct {
		blocks       uint64
		inodePercent uint32
		_            uint32
	}{blocks: blocks, inodePercent: g.inodePercent}
	return call(t.File, xfsGrowData, unsafe.Pointer(&a))
}

// Trim frees the blocks of the device that the file system doesn't use, and returns how many bytes these are. Other programs' files
// don't matter to it: f is any file or folder of the file system.
func Trim(f *os.File) (int64, error) {
	// Blocks of files that were just removed are free after the journal is written.
	if err := flush(f); err != nil {
		return 0, err
	}
	a := struct{ start, length, least uint64 }{length: 1<<64 - 1}
	if err := call(f, fiTrim, unsafe.Pointer(&a)); err != nil {
		return 0, &os.PathError{Op: "trim", Path: f.Name(), Err: err}
	}
	return int64(a.length), nil
}

// SpaceOf returns the space of the file system of an open file or folder.
func SpaceOf(f *os.File) (Space, error) {
	var s unix.Statfs_t
	if err := eintr.Retry(func() error { return unix.Fstatfs(int(f.Fd()), &s) }); err != nil {
		return Space{}, &os.PathError{Op: "statfs", Path: f.Name(), Err: err}
	}
	return Space{int64(s.Blocks) * s.Bsize, int64(s.Blocks-s.Bfree) * s.Bsize, int64(s.Bavail) * s.Bsize}, nil
}
