package filesystem

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// Requests of ioctl(2) for snapshots, and a flag of the first: include/uapi/linux/btrfs.h.
const (
	btrfsSnapshot = 0x50009417
	btrfsDestroy  = 0x5000940F
	btrfsReadOnly = 1 << 1
)

// A btrfsArgs2 is struct btrfs_ioctl_vol_args_v2.
type btrfsArgs2 struct {
	fd    int64
	_     uint64
	flags uint64
	_     [4]uint64
	name  [4040]byte
}

// Subsnapshot makes a snapshot of an open subvolume of btrfs under a name in an open folder. It has all that was written before, and
// is on the disk when the call returns.
func Subsnapshot(dir *os.File, name string, of *os.File, readOnly bool) error {
	a := btrfsArgs2{fd: int64(of.Fd())}
	if readOnly {
		a.flags = btrfsReadOnly
	}
	copy(a.name[:len(a.name)-1], name)
	if err := call(dir, btrfsSnapshot, unsafe.Pointer(&a)); err != nil {
		return &os.PathError{Op: "make the snapshot", Path: name, Err: err}
	}
	return flush(dir)
}

// DestroySubvolume removes a subvolume, with its files, from an open folder. One that is missing is no error. The kernel frees its
// space in the background.
func DestroySubvolume(dir *os.File, name string) error {
	var a btrfsArgs
	copy(a.name[:len(a.name)-1], name)
	err := call(dir, btrfsDestroy, unsafe.Pointer(&a))
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "remove the subvolume", Path: name, Err: err}
	}
	return flush(dir)
}

// Exchange exchanges two names of an open folder at once.
func Exchange(dir *os.File, a, b string) error {
	fd := int(dir.Fd())
	if err := eintr.Retry(func() error { return unix.Renameat2(fd, a, fd, b, unix.RENAME_EXCHANGE) }); err != nil {
		return fmt.Errorf("exchange %s and %s: %w", a, b, err)
	}
	return flush(dir)
}

// PlainFolder makes a folder of the tree's root that is no subvolume, and opens it. Only root may enter it.
func (t *Tree) PlainFolder(name string) (*os.File, error) {
	err := eintr.Retry(func() error { return unix.Mkdirat(int(t.Fd()), name, 0o700) })
	if err != nil && !errors.Is(err, os.ErrExist) {
		return nil, &os.PathError{Op: "make the folder", Path: name, Err: err}
	}
	return t.open(name)
}
