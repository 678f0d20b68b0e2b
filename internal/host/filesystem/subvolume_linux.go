package filesystem

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Requests of btrfs: include/uapi/linux/btrfs.h.
const (
	btrfsSubvolMake   = 0x5000940E
	btrfsSubvolRemove = 0x5000940F
	btrfsSnapshotMake = 0x50009417
	btrfsReadOnly     = 1 << 1 // BTRFS_SUBVOL_RDONLY
)

// subvolume makes an empty subvolume in the tree's root.
func (t *Tree) subvolume(name string) error {
	var a btrfsArgs
	copy(a.name[:len(a.name)-1], name)
	return call(t.File, btrfsSubvolMake, unsafe.Pointer(&a))
}

// A btrfsArgs2 is struct btrfs_ioctl_vol_args_v2.
type btrfsArgs2 struct {
	fd, _ int64
	flags uint64
	_     [4]uint64
	name  [4040]byte
}

// SnapshotSubvolume makes the name in an open folder a snapshot of an open subvolume of the same btrfs. It has all that was written
// before.
func SnapshotSubvolume(from, in *os.File, name string, readOnly bool) error {
	a := btrfsArgs2{fd: int64(from.Fd())}
	if readOnly {
		a.flags = btrfsReadOnly
	}
	copy(a.name[:len(a.name)-1], name)
	if err := call(in, btrfsSnapshotMake, unsafe.Pointer(&a)); err != nil {
		return fmt.Errorf("make the snapshot %q: %w", name, err)
	}
	return flush(in)
}

// RemoveSubvolume removes a subvolume of an open folder, with its content. It is no error if there is none.
func RemoveSubvolume(in *os.File, name string) error {
	var a btrfsArgs
	copy(a.name[:len(a.name)-1], name)
	if err := call(in, btrfsSubvolRemove, unsafe.Pointer(&a)); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove the subvolume %q: %w", name, err)
	}
	return nil
}

// Exchange swaps two names of the tree's root.
func (t *Tree) Exchange(a, b string) error {
	if err := unix.Renameat2(int(t.Fd()), a, int(t.Fd()), b, unix.RENAME_EXCHANGE); err != nil {
		return fmt.Errorf("exchange %s and %s: %w", a, b, err)
	}
	return flush(t.File)
}
