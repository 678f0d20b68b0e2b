package filesystem

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
)

// ErrNone says that a file has no file system that this package knows.
var ErrNone = errors.New("no ext4, xfs or btrfs is in it")

// A Super is what the superblock of a file system says.
type Super struct {
	Kind Kind
	// Size is the bytes of the file system on its device, which may be less than the device has.
	Size  int64
	UUID  string
	Label string
	// Errors is set if the kernel has found the file system damaged; only ext4 records that.
	Errors bool
	// Dirty is set if it was not unmounted and its journal must be replayed. For xfs it isn't known.
	Dirty bool
}

// ReadSuper reads the superblock of a file or device.
//
// The formats are those of fs/ext4/ext4.h, fs/xfs/libxfs/xfs_format.h and include/uapi/linux/btrfs_tree.h.
func ReadSuper(r io.ReaderAt) (Super, error) {
	b := make([]byte, 0x10000+4096)
	n, err := r.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Super{}, err
	}
	clear(b[n:])
	for _, parse := range []func([]byte) (Super, bool){ext4Super, xfsSuper, btrfsSuper} {
		if s, ok := parse(b); ok {
			return s, nil
		}
	}
	return Super{}, ErrNone
}

func ext4Super(b []byte) (Super, bool) {
	b = b[1024:]
	e := binary.LittleEndian
	if e.Uint16(b[0x38:]) != 0xEF53 {
		return Super{}, false
	}
	incompatible := e.Uint32(b[0x60:])
	blocks := uint64(e.Uint32(b[0x4:]))
	if incompatible&0x80 != 0 { // 64bit
		blocks |= uint64(e.Uint32(b[0x150:])) << 32
	}
	state := e.Uint16(b[0x3A:])
	return Super{
		Kind: Ext4, Size: int64(blocks << (10 + e.Uint32(b[0x18:])&7)), UUID: uuid(b[0x68:]), Label: text(b[0x78:0x88]),
		Errors: state&2 != 0, Dirty: state&1 == 0 || incompatible&4 != 0, // "recover"
	}, true
}

func xfsSuper(b []byte) (Super, bool) {
	e := binary.BigEndian
	if string(b[:4]) != "XFSB" {
		return Super{}, false
	}
	return Super{Kind: XFS, Size: int64(e.Uint64(b[8:]) * uint64(e.Uint32(b[4:]))), UUID: uuid(b[32:]), Label: text(b[108:120])}, true
}

func btrfsSuper(b []byte) (Super, bool) {
	b = b[0x10000:]
	e := binary.LittleEndian
	if string(b[0x40:0x48]) != "_BHRfS_M" {
		return Super{}, false
	}
	return Super{Kind: Btrfs, Size: int64(e.Uint64(b[0x70:])), UUID: uuid(b[0x20:]), Label: text(b[0x12b : 0x12b+256]), Dirty: e.Uint64(b[0x60:]) != 0}, true
}

// text is a string that ends with a zero or with b.
func text(b []byte) string {
	s, _, _ := bytes.Cut(b, []byte{0})
	return string(s)
}

func uuid(b []byte) string {
	h := hex.EncodeToString(b[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
