package load

import (
	"errors"
	"io"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func inspectPath(path string, off, size int64) (FileInfo, error) {
	f, err := openTarget(Job{RW: Read}, path)
	if err != nil {
		return FileInfo{}, err
	}
	defer f.close()
	if size == 0 {
		size = max(f.size-off, 0)
	}
	return f.inspect(off, size, false)
}

// inspect reports on a region. With settle it first writes back dirty data if the region seems unwritten: to a reader,
// data in the page cache counts as written.
func (t *target) inspect(off, size int64, settle bool) (FileInfo, error) {
	info := unknownInfo(t.size)
	err := extents(t.fd, off, size, &info)
	if err == nil && settle && info.UnwrittenBytes > 0 {
		if err = t.sync(true); err == nil {
			err = extents(t.fd, off, size, &info)
		}
	}
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EINVAL) {
		info.HoleBytes, err = holes(t.fd, off, size)
	}
	if err != nil {
		return info, err
	}
	info.DIOMemAlign, info.DIOAlign = dioAlignment(t.fd)
	info.Resident = resident(t.fd, off, min(size, t.size-off))
	return info, nil
}

// The FIEMAP interface: https://docs.kernel.org/filesystems/fiemap.html
const (
	fsIocFiemap   = 0xc020660b
	fiemapBatch   = 128
	feLast        = 0x1
	feDelalloc    = 0x4
	feUnwritten   = 0x800
	feShared      = 0x2000
	maxExtentRuns = 1 << 20
)

type fiemapExtent struct {
	logical, physical, length uint64
	_                         [2]uint64
	flags                     uint32
	_                         [3]uint32
}

type fiemap struct {
	start, length uint64
	flags         uint32
	mapped, count uint32
	_             uint32
	extents       [fiemapBatch]fiemapExtent
}

// extents counts the extents of a region with FIEMAP.
func extents(fd int, off, size int64, info *FileInfo) error {
	info.Extents, info.Unwritten, info.Shared, info.Delalloc = 0, 0, 0, 0
	info.HoleBytes, info.UnwrittenBytes = 0, 0
	pos, end := uint64(off), uint64(off+size)
	for range maxExtentRuns {
		if pos >= end {
			return nil
		}
		m := fiemap{start: pos, length: end - pos, count: fiemapBatch}
		if _, _, errno := syscall.Syscall(unix.SYS_IOCTL, uintptr(fd), fsIocFiemap, uintptr(unsafe.Pointer(&m))); errno != 0 {
			*info = unknownInfo(info.Size)
			return errno
		}
		last := m.mapped == 0
		for _, e := range m.extents[:min(m.mapped, fiemapBatch)] {
			pos = e.count(pos, end, info)
			last = last || e.flags&feLast != 0
		}
		if last {
			if pos < end {
				info.HoleBytes += int64(end - pos)
			}
			return nil
		}
	}
	return errors.New("the list of extents has no end")
}

// count adds extent e to info and returns where it ends.
func (e *fiemapExtent) count(pos, end uint64, info *FileInfo) uint64 {
	stop := min(e.logical+e.length, end)
	if e.logical > pos {
		info.HoleBytes += int64(min(e.logical, end) - pos)
		pos = min(e.logical, end)
	}
	info.Extents++
	if e.flags&feDelalloc != 0 {
		info.Delalloc++
	}
	if e.flags&feShared != 0 {
		info.Shared++
	}
	if e.flags&feUnwritten != 0 {
		info.Unwritten++
		if stop > pos {
			info.UnwrittenBytes += int64(stop - pos)
		}
	}
	return max(stop, pos)
}

// holes returns the bytes of a region that are in no data segment, or -1 if the file system can't say. A file system
// without support for holes reports everything as data.
func holes(fd int, off, size int64) (int64, error) {
	var data int64
	for pos := off; pos < off+size; {
		start, err := unix.Seek(fd, pos, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break // all data up to the end
		}
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) {
			return -1, nil
		}
		if err != nil {
			return -1, err
		}
		stop, err := unix.Seek(fd, start, unix.SEEK_HOLE)
		if err != nil || stop <= start {
			return -1, err
		}
		if start < off+size {
			data += min(stop, off+size) - start
		}
		pos = stop
	}
	_, err := unix.Seek(fd, 0, io.SeekStart)
	return size - data, err
}

// dioAlignment asks statx for the alignments of direct I/O. They are -1 if the kernel is older than 6.1 or the file
// system doesn't report them.
func dioAlignment(fd int) (mem, off int64) {
	var st unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_DIOALIGN, &st)
	if err != nil || st.Mask&unix.STATX_DIOALIGN == 0 {
		return -1, -1
	}
	return int64(st.Dio_mem_align), int64(st.Dio_offset_align)
}

// resident returns the share of a region that is in the page cache, by mincore. If the caller may not write the file,
// the kernel reports all of it as resident.
func resident(fd int, off, size int64) float64 {
	if size <= 0 {
		return -1
	}
	const window = 1 << 30
	page := int64(unix.Getpagesize())
	first := off &^ (page - 1)
	var in, all int64
	vec := make([]byte, min(off+size-first, window)/page+1)
	for at := first; at < off+size; at += window {
		n := min(off+size-at, window)
		p, err := unix.Mmap(fd, at, int(n), unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			return -1
		}
		pages := (n + page - 1) / page
		_, _, errno := syscall.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&p[0])), uintptr(n), uintptr(unsafe.Pointer(&vec[0])))
		unix.Munmap(p)
		if errno != 0 {
			return -1
		}
		for _, v := range vec[:pages] {
			in += int64(v & 1)
		}
		all += pages
	}
	return float64(in) / float64(all)
}
