package loads

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"plimsoll/load"
)

// The bare ring is the limit of any load generator on io_uring: random reads of one file with registered file, buffers
// and ring, and nothing else. It has no clock, no histogram and no budget, and ignores the data. Numbers are those of
// linux/io_uring.h.
const (
	sysSetup, sysEnter, sysRegister = 425, 426, 427
	flagsBest                       = 1<<12 | 1<<13 | 1<<7 // single issuer, deferred task run, submit all
	getEvents, registeredRing       = 1, 1 << 4
	regBuffers, regFiles, regRing   = 0, 2, 20
	opReadFixed, fixedFile          = 4, 1
)

// bareParams is struct io_uring_params.
type bareParams struct {
	sqEntries, cqEntries, flags, _, _, features, _ uint32
	_                                              [3]uint32
	sq                                             struct {
		head, tail, mask, entries, flags, dropped, array, _ uint32
		_                                                   uint64
	}
	cq struct {
		head, tail, mask, entries, overflow, cqes, flags, _ uint32
		_                                                   uint64
	}
}

// bareEntry is struct io_uring_sqe.
type bareEntry struct {
	op, flags uint8
	_         uint16
	fd        int32
	off, addr uint64
	len, _    uint32
	user      uint64
	buf, _    uint16
	_         uint32
	_         [2]uint64
}

// bare does the job's random reads for its runtime.
func bare(job load.Job) (reading, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	flags := unix.O_RDONLY | unix.O_CLOEXEC
	if job.Direct {
		flags |= unix.O_DIRECT
	}
	fd, err := unix.Open(job.Filename, flags, 0)
	if err != nil {
		return reading{}, err
	}
	defer unix.Close(fd)
	depth := uint32(job.IODepth)
	p := bareParams{flags: flagsBest}
	r, _, errno := syscall.RawSyscall(sysSetup, uintptr(depth), uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return reading{}, fmt.Errorf("io_uring_setup: %w", errno)
	}
	defer unix.Close(int(r))
	mem, err := unix.Mmap(int(r), 0, max(int(p.sq.array+p.sqEntries*4), int(p.cq.cqes+p.cqEntries*16)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return reading{}, err
	}
	defer unix.Munmap(mem)
	entries, err := unix.Mmap(int(r), 0x10000000, int(p.sqEntries)*64, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return reading{}, err
	}
	defer unix.Munmap(entries)
	buf, err := unix.Mmap(-1, 0, int(depth)*int(job.BS), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return reading{}, err
	}
	defer unix.Munmap(buf)
	file := int32(fd)
	iov := unix.Iovec{Base: &buf[0]}
	iov.SetLen(len(buf))
	up := struct {
		offset, _ uint32
		data      uint64
	}{offset: ^uint32(0), data: uint64(r)}
	for _, reg := range []struct {
		op  uintptr
		arg unsafe.Pointer
	}{{regFiles, unsafe.Pointer(&file)}, {regBuffers, unsafe.Pointer(&iov)}, {regRing, unsafe.Pointer(&up)}} {
		if _, _, errno := syscall.RawSyscall6(sysRegister, r, reg.op, uintptr(reg.arg), 1, 0, 0); errno != 0 {
			return reading{}, fmt.Errorf("io_uring_register %d: %w", reg.op, errno)
		}
	}
	at := func(off uint32) *uint32 { return (*uint32)(unsafe.Pointer(&mem[off])) }
	sqHead, sqTail, cqHead, cqTail, mask, cqMask := at(p.sq.head), at(p.sq.tail), at(p.cq.head), at(p.cq.tail), *at(p.sq.mask), *at(p.cq.mask)
	array := unsafe.Slice(at(p.sq.array), p.sqEntries)
	sqes := unsafe.Slice((*bareEntry)(unsafe.Pointer(&entries[0])), p.sqEntries)
	cqes := unsafe.Slice((*[2]uint64)(unsafe.Pointer(at(p.cq.cqes))), p.cqEntries)
	for i := range array {
		array[i] = uint32(i)
	}
	base, bs, blocks := uint64(uintptr(unsafe.Pointer(&buf[0]))), uint64(job.BS), uint64(job.Size/job.BS)
	rng, tail, head, done := uint64(1), uint32(0), uint32(0), uint64(0)
	push := func(slot uint64) {
		rng += 0xa0761d6478bd642f
		hi, lo := bits.Mul64(rng, rng^0xe7037ed1a0b428db)
		n, _ := bits.Mul64(hi^lo, blocks)
		sqes[tail&mask] = bareEntry{op: opReadFixed, flags: fixedFile, off: n * bs, addr: base + slot*bs, len: uint32(bs), user: slot}
		tail++
	}
	for s := range uint64(depth) {
		push(s)
	}
	var before, after unix.Rusage
	unix.Getrusage(unix.RUSAGE_THREAD, &before)
	begin := time.Now()
	for {
		atomic.StoreUint32(sqTail, tail)
		submit := tail - atomic.LoadUint32(sqHead) // a signal may have left some unsubmitted
		if _, _, errno := syscall.RawSyscall6(sysEnter, uintptr(up.offset), uintptr(submit), 1, getEvents|registeredRing, 0, 0); errno != 0 && errno != unix.EINTR {
			return reading{}, errno
		}
		from := head
		for end := atomic.LoadUint32(cqTail); head != end; head++ {
			c := &cqes[head&cqMask]
			if int32(c[1]) != int32(bs) {
				return reading{}, errors.New("a read was short")
			}
			push(c[0])
		}
		atomic.StoreUint32(cqHead, head)
		// Checking the clock once in thousands of I/Os costs nothing. A device does only thousands per second.
		n := uint64(head - from)
		if done += n; done&0xfff < n && time.Since(begin) >= job.Runtime {
			break
		}
	}
	took := time.Since(begin)
	unix.Getrusage(unix.RUSAGE_THREAD, &after)
	cpu := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	return reading{iops: float64(done) / took.Seconds(), cpu: float64(cpu) / float64(done)}, nil
}
