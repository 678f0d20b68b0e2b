package load

import (
	"errors"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel's AIO: io_setup(2), io_submit(2), io_getevents(2), linux/aio_abi.h.
const (
	iocbPread  = 0
	iocbPwrite = 1
	iocbIOPrio = 1 << 1 // IOCB_FLAG_IOPRIO: reqprio applies; without it the thread's own priority does.
	// aioMagic marks a completion ring that can be read without a system call
	// (AIO_RING_MAGIC in fs/aio.c), as fio does with userspace_reap.
	aioMagic = 0xa10a10a1
)

// iocb has the little-endian layout. All of Go's Linux ports use it except s390x, ppc64 and mips, which newAIO refuses.
type iocb struct {
	data        uint64
	_           [2]uint32 // aio_key, aio_rw_flags
	opcode      uint16
	reqprio     uint16
	fd          uint32
	buf, nbytes uint64
	offset      int64
	_           uint64
	flags, _    uint32 // and aio_resfd
}

type ioEvent struct {
	data, obj uint64
	res, res2 int64
}

// aioRing is the head of the mapped ring that io_setup returns.
type aioRing struct {
	id, nr, head, tail              uint32
	magic, compat, incompat, length uint32
}

// aio is an AIO context of one thread.
type aio struct {
	ctx    uintptr
	ring   *aioRing // nil: not readable from here
	ringEv []ioEvent
	fds    []uint32 // of the targets
	slots  []slot
	prios  []uint16 // of each slot's I/O; nil: none has one
	cbs    []iocb
	ptrs   []*iocb
	events []ioEvent
	out    []completion
	ts     unix.Timespec
}

func newAIO(f []*target, slots []slot) (*aio, error) {
	if one := uint16(1); *(*byte)(unsafe.Pointer(&one)) != 1 {
		return nil, &EngineError{LinuxAIO, "not supported on big-endian machines", ErrNotSupported}
	}
	n := len(slots)
	a := &aio{slots: slots}
	for _, t := range f {
		a.fds = append(a.fds, uint32(t.fd))
	}
	if _, _, errno := syscall.RawSyscall(unix.SYS_IO_SETUP, uintptr(n), uintptr(unsafe.Pointer(&a.ctx)), 0); errno != 0 {
		return nil, aioError("io_setup", errno)
	}
	a.cbs, a.ptrs = make([]iocb, n), make([]*iocb, n)
	a.events, a.out = make([]ioEvent, n), make([]completion, 0, n)
	for i := range a.cbs {
		a.cbs[i] = iocb{data: uint64(i)}
	}
	a.mapRing()
	return a, nil
}

// mapRing finds the completion ring: the context's id is its address.
func (a *aio) mapRing() {
	// The detour over the variable's address tells vet that this is no Go memory.
	r := (*aioRing)(*(*unsafe.Pointer)(unsafe.Pointer(&a.ctx)))
	if r == nil || r.magic != aioMagic || r.incompat != 0 || r.nr == 0 {
		return
	}
	a.ring = r
	a.ringEv = unsafe.Slice((*ioEvent)(unsafe.Add(unsafe.Pointer(r), r.length)), r.nr)
}

// run implements asyncEngine.
func (a *aio) run(batch []uint32, want int, timeout time.Duration) ([]completion, error) {
	a.out = a.out[:0]
	for i, s := range batch {
		sl, cb := &a.slots[s], &a.cbs[s]
		cb.opcode = iocbPread
		if sl.op == opWrite {
			cb.opcode = iocbPwrite
		}
		cb.fd = a.fds[sl.file]
		cb.buf, cb.nbytes, cb.offset = uint64(sl.buf)+uint64(sl.done), uint64(sl.size)-uint64(sl.done), sl.off+sl.done
		if a.prios != nil {
			cb.reqprio, cb.flags = a.prios[s], iocbIOPrio
			if cb.reqprio == 0 {
				cb.flags = 0
			}
		}
		a.ptrs[i] = cb
	}
	if err := a.submit(batch); err != nil {
		return nil, err
	}
	a.reap()
	// If the ring can't be read, completions that are already there must come from the kernel, even if none is awaited.
	if a.ring == nil || len(a.out) < want {
		if err := a.wait(max(want-len(a.out), 0), timeout); err != nil {
			return nil, err
		}
	}
	return a.out, nil
}

func (a *aio) priorities(all []uint16) { a.prios = all }

// submit submits the first len(batch) of ptrs. The call stops at a bad one, whose error becomes its completion.
func (a *aio) submit(batch []uint32) error {
	for todo := a.ptrs[:len(batch)]; len(todo) > 0; {
		n, _, errno := syscall.RawSyscall(unix.SYS_IO_SUBMIT, a.ctx, uintptr(len(todo)), uintptr(unsafe.Pointer(&todo[0])))
		switch {
		case errno == 0:
			todo = todo[n:]
		case errno == unix.EINTR:
		case errno == unix.EAGAIN:
			// The context is full of completions that were never collected.
			had := len(a.out)
			if a.reap(); a.ring == nil {
				if err := a.wait(0, 0); err != nil {
					return err
				}
			}
			if len(a.out) == had {
				// Or the kernel has no memory for requests. The caller decides whether to try again.
				for _, cb := range todo {
					a.out = append(a.out, completion{uint32(cb.data), -int32(errno)})
				}
				todo = nil
			}
			sleep(spinFor)
		case errno == unix.ENOSYS || errno == unix.EFAULT:
			return errno
		default:
			a.out = append(a.out, completion{uint32(todo[0].data), -int32(errno)})
			todo = todo[1:]
		}
	}
	return nil
}

// reap takes completions out of the mapped ring. For nosplit see clock.now.
//
//go:nosplit
func (a *aio) reap() {
	if a.ring == nil {
		return
	}
	head := a.ring.head
	for tail := atomic.LoadUint32(&a.ring.tail); head != tail; {
		a.add(&a.ringEv[head])
		if head++; head == a.ring.nr {
			head = 0
		}
	}
	atomic.StoreUint32(&a.ring.head, head)
}

// wait collects completions from the kernel: at least want, or fewer if the timeout passes.
func (a *aio) wait(want int, timeout time.Duration) error {
	limit := newDeadline(timeout)
	for {
		p := unsafe.Pointer(nil)
		if timeout >= 0 {
			// The timespec is kept in a, which doesn't move as a stack may.
			a.ts = unix.NsecToTimespec(int64(timeout))
			p = unsafe.Pointer(&a.ts)
		}
		n, errno := a.getEvents(want, p)
		if errno == unix.EINTR {
			if timeout = limit.left(); timeout == 0 {
				// An I/O may have completed in the meantime: collect it too.
				want = 0
			}
			continue
		}
		if errno != 0 {
			return errno
		}
		for i := range a.events[:n] {
			a.add(&a.events[i])
		}
		return nil
	}
}

// getEvents is a separate function because of its prologue. Go's scheduler can stop the thread there: the signal that
// requests it ends the raw system call.
//
//go:noinline
func (a *aio) getEvents(want int, timeout unsafe.Pointer) (uintptr, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_IO_GETEVENTS, a.ctx, uintptr(want), uintptr(len(a.events)), uintptr(unsafe.Pointer(&a.events[0])), uintptr(timeout), 0)
	return n, errno
}

//go:nosplit
func (a *aio) add(e *ioEvent) {
	a.out = append(a.out, completion{uint32(e.data), int32(e.res)})
}

func (a *aio) close() error {
	if _, _, errno := syscall.RawSyscall(unix.SYS_IO_DESTROY, a.ctx, 0, 0); errno != 0 {
		return errors.New("io_destroy: " + errno.Error())
	}
	return nil
}
