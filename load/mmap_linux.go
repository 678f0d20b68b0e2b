package load

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapFile maps the job's file for the engine mmap. A region beyond the end of the file can't be mapped, because a
// mapping does not extend the file.
func (t *target) mapFile(j Job) error {
	if end := j.Offset + int64(max(j.NumJobs-1, 0))*j.OffsetIncrement + max(j.Size, 1); t.size < end {
		return fmt.Errorf("%s: the file has %d bytes; ioengine=mmap needs %d, and can't lengthen it", t.path, t.size, end)
	}
	prot := unix.PROT_READ
	if j.writes() {
		prot |= unix.PROT_WRITE
	}
	m, err := unix.Mmap(t.fd, 0, int(t.size), prot, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map %s: %w", t.path, err)
	}
	t.mem, t.through = m, j.Sync != ""
	if advice, ok := map[string]int{Random: unix.MADV_RANDOM, Sequential: unix.MADV_SEQUENTIAL}[j.Hint]; ok {
		if err := unix.Madvise(m, advice); err != nil {
			return errors.Join(fmt.Errorf("hint %s for %s: %w", j.Hint, t.path, err), t.unmap())
		}
	}
	return nil
}

// unmap removes the mapping, if there is one.
func (t *target) unmap() error {
	if t.mem == nil {
		return nil
	}
	m := t.mem
	t.mem = nil
	return unix.Munmap(m)
}

// maps reports whether a panic is a fault at an address of the mapping (debug.SetPanicOnFault). Any other panic is a
// bug.
func (t *target) maps(fault any) bool {
	e, ok := fault.(interface {
		runtime.Error
		Addr() uintptr
	})
	return ok && len(t.mem) > 0 && e.Addr()-uintptr(unsafe.Pointer(unsafe.SliceData(t.mem))) < uintptr(len(t.mem))
}

// copy does the slot's I/O by copying, so that the kernel sees page faults only. If the kernel can't serve a fault,
// because the disk failed or the file was cut short, it sends SIGBUS, which Go turns into a panic
// (debug.SetPanicOnFault, per thread). copy returns the error that a read would have returned.
func (t *target) copy(s *slot) (n int32) {
	defer func() {
		if fault := recover(); fault != nil {
			if !t.maps(fault) {
				panic(fault)
			}
			n = -int32(unix.EIO)
		}
	}()
	// The detour over the variable's address satisfies vet: the memory isn't Go's.
	buf := unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&s.buf))), s.size)
	place := t.mem[s.off : s.off+int64(s.size)]
	if s.op == opRead {
		copy(buf, place)
		return int32(s.size)
	}
	copy(place, buf)
	if t.through {
		// From the page in which the slot's I/O begins.
		from := s.off &^ (pageSize - 1)
		if err := uninterrupted(func() error { return unix.Msync(t.mem[from:s.off+int64(s.size)], unix.MS_SYNC) }); err != nil {
			return -int32(unix.EIO)
		}
	}
	return int32(s.size)
}
