package disktest

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dedupBlock is the size of the blocks that a DedupFS compares, in bytes, as for VDO and btrfs.
const dedupBlock = 4096

// A DedupFS is a mounted FUSE file system on a disk of its own. It stores equal blocks once, whenever and in whichever file they
// were written. It writes other blocks to the disk at once, without the page cache, and reads them from there. The kernel knows
// its disk, as it knows that of ntfs-3g.
type DedupFS struct {
	*SlowFS
	disk *os.File

	mu sync.Mutex
	// known maps the hash of a block's data to its place on the disk; at has the place of each block of a file.
	known map[[sha256.Size]byte]int64
	at    map[string]map[int64]int64
	end   int64
	// written and kept count blocks by the file's name.
	written, kept map[string]int
}

// NewDedupFS mounts one on a new disk of this many bytes.
func NewDedupFS(t testing.TB, size int64) *DedupFS {
	t.Helper()
	device := Loop(t, Image(t, size), true)
	disk, err := os.OpenFile(device, os.O_RDWR|unix.O_DIRECT, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { disk.Close() })
	d := &DedupFS{disk: disk, known: map[[sha256.Size]byte]int64{}, at: map[string]map[int64]int64{}, written: map[string]int{}, kept: map[string]int{}}
	d.SlowFS = serveSlow(t, &SlowFS{besides: d}, device, "fuseblk", ",blksize=4096")
	return d
}

// Count returns how many blocks were written to files whose names have this prefix, and how many of them were stored.
func (d *DedupFS) Count(prefix string) (written, kept int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, n := range d.written {
		if strings.HasPrefix(name, prefix) {
			written, kept = written+n, kept+d.kept[name]
		}
	}
	return written, kept
}

// aligned is a buffer for direct I/O.
func aligned() []byte {
	b := make([]byte, 2*dedupBlock)
	at := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (dedupBlock - 1)
	return b[at:][:dedupBlock]
}

// write implements keeper.
func (d *DedupFS) write(path string, data []byte, off int64) error {
	for len(data) > 0 {
		from := off % dedupBlock
		n := min(dedupBlock-from, int64(len(data)))
		if err := d.writeBlock(path, off/dedupBlock, from, data[:n]); err != nil {
			return err
		}
		data, off = data[n:], off+n
	}
	return nil
}

// writeBlock writes data to a block of a file, at an offset in the block.
func (d *DedupFS) writeBlock(path string, block, from int64, data []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock() // One block at a time: new data is on the disk before another write finds it in known.
	b := aligned()
	if len(data) < dedupBlock {
		if was, ok := d.at[path][block]; ok {
			if _, err := d.disk.ReadAt(b, was); err != nil {
				return err
			}
		}
	}
	copy(b[from:], data)
	sum := sha256.Sum256(b)
	where, ok := d.known[sum]
	name := filepath.Base(path)
	d.written[name]++
	if !ok {
		where = d.end
		if _, err := d.disk.WriteAt(b, where); err != nil {
			return err
		}
		d.end += dedupBlock
		d.kept[name]++
		d.known[sum] = where
	}
	if d.at[path] == nil {
		d.at[path] = map[int64]int64{}
	}
	d.at[path][block] = where
	return nil
}

// read implements keeper.
func (d *DedupFS) read(path string, data []byte, off int64) error {
	for b := aligned(); len(data) > 0; {
		from := off % dedupBlock
		n := min(dedupBlock-from, int64(len(data)))
		d.mu.Lock()
		where, ok := d.at[path][off/dedupBlock]
		d.mu.Unlock()
		if ok {
			if _, err := d.disk.ReadAt(b, where); err != nil {
				return err
			}
			copy(data[:n], b[from:])
		}
		data, off = data[n:], off+n
	}
	return nil
}

// sync implements keeper.
func (d *DedupFS) sync() error { return unix.Fdatasync(int(d.disk.Fd())) }
