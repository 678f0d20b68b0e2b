package load

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The io_uring interface: io_uring_setup(2), io_uring_enter(2), linux/io_uring.h.
// The numbers of the system calls are the same on every architecture.
const (
	sysRingSetup    = 425
	sysRingEnter    = 426
	sysRingRegister = 427

	setupSubmitAll    = 1 << 7  // 5.18: go on after a bad entry
	setupCoopTaskrun  = 1 << 8  // 5.19: no interrupt to run completions
	setupSingleIssuer = 1 << 12 // 6.0: used by one thread only
	setupDeferTaskrun = 1 << 13 // 6.1: completions run when we wait

	featSingleMmap = 1 << 0
	featExtArg     = 1 << 8 // 5.11

	enterGetEvents      = 1 << 0
	enterExtArg         = 1 << 3
	enterRegisteredRing = 1 << 4

	registerBuffers   = 0
	registerFiles     = 2
	registerRingFDs   = 20 // 5.18
	unregisterRingFDs = 21

	opcodeReadFixed  = 4
	opcodeWriteFixed = 5
	opcodeRead       = 22
	opcodeWrite      = 23

	sqeFixedFile = 1 << 0
	offSQEs      = 0x10000000
)

type sqOffsets struct {
	head, tail, mask, entries, flags, dropped, array, _ uint32
	_                                                   uint64
}

type cqOffsets struct {
	head, tail, mask, entries, overflow, cqes, flags, _ uint32
	_                                                   uint64
}

type ringParams struct {
	sqEntries, cqEntries, flags, _, _, features, wqFD uint32
	_                                                 [3]uint32
	sq                                                sqOffsets
	cq                                                cqOffsets
}

type sqe struct {
	opcode, flags uint8
	ioprio        uint16
	fd            int32
	off, addr     uint64
	len, rwFlags  uint32
	userData      uint64
	bufIndex, _   uint16
	_             uint32
	_             [2]uint64
}

type cqe struct {
	userData uint64
	res      int32
	flags    uint32
}

// ringUpdate is struct io_uring_rsrc_update.
type ringUpdate struct {
	offset, _ uint32
	data      uint64
}

// getEventsArg is struct io_uring_getevents_arg.
type getEventsArg struct {
	sigmask     uint64
	sigmaskSize uint32
	_           uint32
	ts          uint64
}

// A ring is an io_uring of one thread.
type ring struct {
	fd, enterFD     int
	mem, sqeMem     []byte
	sqHead, sqTail  *uint32
	cqHead, cqTail  *uint32
	sqMask, cqMask  uint32
	sqes            []sqe
	cqes            []cqe
	enterFlags      uintptr
	tail            uint32  // ours; published before entering
	files           []int32 // of the targets: descriptors, or indices of registered files
	fileFlags       uint8
	readOp, writeOp uint8
	// perPiece is the number of segments in a registered buffer; 0 if all segments are in one.
	perPiece uint32
	// unasked is the block length for which registration was not attempted, or 0 if it was; refused is the error of the
	// attempt.
	unasked int64
	refused syscall.Errno
	slots   []slot
	prios   []uint16 // of each slot's I/O; nil: no I/O has one
	out     []completion
	ts      unix.Timespec
	arg     getEventsArg
}

// newRing sets up the strongest ring that the kernel offers. It registers the file and the buffers if the kernel
// allows.
func newRing(f []*target, slots []slot, b *buffers) (*ring, error) {
	r := &ring{readOp: opcodeRead, writeOp: opcodeWrite, slots: slots}
	for _, t := range f {
		r.files = append(r.files, int32(t.fd))
	}
	r.out = make([]completion, 0, len(slots))
	p, err := r.setup(uint32(len(slots)))
	if err != nil {
		return nil, err
	}
	if err := r.mapRings(p); err != nil {
		return nil, errors.Join(&EngineError{IOUring, "the rings can't be mapped: " + err.Error(), err}, r.close())
	}
	r.register(b)
	return r, nil
}

// setup tries the flags of newer kernels, the best set first.
func (r *ring) setup(entries uint32) (*ringParams, error) {
	var errno syscall.Errno
	for _, flags := range []uint32{
		setupSingleIssuer | setupDeferTaskrun | setupSubmitAll,
		setupCoopTaskrun | setupSubmitAll,
		0,
	} {
		p := &ringParams{flags: flags}
		fd, _, e := syscall.RawSyscall(sysRingSetup, uintptr(entries), uintptr(unsafe.Pointer(p)), 0)
		if errno = e; e == unix.EINVAL {
			continue
		}
		if e != 0 {
			break
		}
		r.fd, r.enterFD = int(fd), int(fd)
		unix.CloseOnExec(r.fd)
		if p.features&featSingleMmap == 0 || p.features&featExtArg == 0 {
			unix.Close(r.fd)
			return nil, &EngineError{IOUring, "the kernel is older than 5.11", unix.ENOSYS}
		}
		return p, nil
	}
	return nil, ringError(errno)
}

func (r *ring) mapRings(p *ringParams) error {
	size := max(int(p.sq.array+p.sqEntries*4), int(p.cq.cqes+p.cqEntries*uint32(unsafe.Sizeof(cqe{}))))
	const prot, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_POPULATE
	var err error
	if r.mem, err = unix.Mmap(r.fd, 0, size, prot, flags); err != nil {
		return err
	}
	if r.sqeMem, err = unix.Mmap(r.fd, offSQEs, int(p.sqEntries)*int(unsafe.Sizeof(sqe{})), prot, flags); err != nil {
		return err
	}
	at := func(off uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.mem[off])) }
	r.sqHead, r.sqTail, r.sqMask = at(p.sq.head), at(p.sq.tail), *at(p.sq.mask)
	r.cqHead, r.cqTail, r.cqMask = at(p.cq.head), at(p.cq.tail), *at(p.cq.mask)
	r.sqes = unsafe.Slice((*sqe)(unsafe.Pointer(&r.sqeMem[0])), p.sqEntries)
	r.cqes = unsafe.Slice((*cqe)(unsafe.Pointer(&r.mem[p.cq.cqes])), p.cqEntries)
	// Entry i of the submission array is always i.
	array := unsafe.Slice(at(p.sq.array), p.sqEntries)
	for i := range array {
		array[i] = uint32(i)
	}
	return nil
}

// register saves the kernel from looking up the file, the buffers and the ring at each use. The kernel may refuse any
// of it (memlock limit, old kernel); only speed is lost.
func (r *ring) register(b *buffers) {
	if r.registerCall(registerFiles, unsafe.Pointer(&r.files[0]), uintptr(len(r.files))) {
		r.fileFlags = sqeFixedFile
		for i := range r.files {
			r.files[i] = int32(i)
		}
	}
	if iovs := b.pieces(registerMost); len(iovs) > 0 {
		r.refused = r.registerErrno(registerBuffers, unsafe.Pointer(&iovs[0]), uintptr(len(iovs)))
		if r.refused == 0 {
			r.readOp, r.writeOp = opcodeReadFixed, opcodeWriteFixed
		}
		if len(iovs) > 1 {
			r.perPiece = uint32(registerMost / b.stride)
		}
	} else {
		r.unasked = b.stride
	}
	up := ringUpdate{offset: ^uint32(0), data: uint64(r.fd)} // any free place
	if r.registerCall(registerRingFDs, unsafe.Pointer(&up), 1) {
		r.enterFD, r.enterFlags = int(up.offset), enterRegisteredRing
	}
}

// registerMost is the maximum number of bytes that the kernel registers as one buffer (SZ_1G in io_uring/rsrc.c). It is
// a variable for tests.
var registerMost = int64(1) << 30

// pieces cuts the memory, at multiples of the stride, into pieces of at most that many bytes.
func (b *buffers) pieces(most int64) []unix.Iovec {
	var all []unix.Iovec
	step := most / b.stride * b.stride
	for mem := b.mem; len(mem) > 0 && step > 0; {
		p := mem[:min(step, int64(len(mem)))]
		iov := unix.Iovec{Base: unsafe.SliceData(p)}
		iov.SetLen(len(p))
		all, mem = append(all, iov), mem[len(p):]
	}
	return all
}

// registered reports whether the kernel registered the buffers.
func (r *ring) registered() bool { return r.readOp == opcodeReadFixed }

// note lists the features that the ring lacks.
func (r *ring) note() string {
	if r.readOp != opcodeRead {
		return ""
	}
	const what = "io_uring works without registered buffers, which makes it slower: "
	if r.unasked > 0 {
		return what + fmt.Sprintf("a block takes %d bytes of memory, and the kernel takes %d at most as one buffer", r.unasked, registerMost)
	}
	if r.refused == unix.ENOMEM {
		return what + "RLIMIT_MEMLOCK is " + memlock()
	}
	return what + "the kernel says: " + r.refused.Error()
}

func (r *ring) registerCall(op uintptr, arg unsafe.Pointer, n uintptr) bool {
	got, errno := r.registerAgain(op, arg, n)
	return errno == 0 && (op != registerRingFDs || got == n)
}

// registerAgain repeats a call that a signal interrupts: older kernels wait for the ring to become idle
// (io_uring_register(2)).
func (r *ring) registerAgain(op uintptr, arg unsafe.Pointer, n uintptr) (got uintptr, errno syscall.Errno) {
	for {
		if got, _, errno = syscall.RawSyscall6(sysRingRegister, uintptr(r.fd), op, uintptr(arg), n, 0, 0); errno != unix.EINTR {
			return got, errno
		}
	}
}

func (r *ring) registerErrno(op uintptr, arg unsafe.Pointer, n uintptr) syscall.Errno {
	_, errno := r.registerAgain(op, arg, n)
	return errno
}

// run implements asyncEngine.
func (r *ring) run(batch []uint32, want int, timeout time.Duration) ([]completion, error) {
	for _, s := range batch {
		r.push(s)
	}
	if len(batch) > 0 {
		atomic.StoreUint32(r.sqTail, r.tail)
	}
	limit := newDeadline(timeout)
	for {
		todo := r.tail - atomic.LoadUint32(r.sqHead)
		if todo == 0 && want > 0 && r.ready() >= uint32(want) {
			break
		}
		errno := r.enter(todo, want, timeout)
		if errno == unix.EINTR {
			// The submitted entries have left the queue.
			if timeout = limit.left(); timeout == 0 && want > 0 {
				break
			}
			continue
		}
		if (errno == unix.EAGAIN || errno == unix.EBUSY) && r.ready() == 0 {
			// The kernel has no memory for requests at the moment. There may be nothing in flight to wait for, so yield
			// to others; the caller decides whether to try again.
			sleep(spinFor)
			return r.withdraw(r.pop()), nil
		}
		if errno != 0 && errno != unix.ETIME && errno != unix.EAGAIN && errno != unix.EBUSY {
			return nil, errno
		}
		if errno != 0 || want == 0 || r.ready() >= uint32(want) {
			break
		}
	}
	return r.pop(), nil
}

// withdraw removes the entries that the kernel did not take from the submission queue, which it reads only when
// entered. Each becomes a completion with EAGAIN.
func (r *ring) withdraw(out []completion) []completion {
	head := atomic.LoadUint32(r.sqHead)
	for i := head; i != r.tail; i++ {
		out = append(out, completion{uint32(r.sqes[i&r.sqMask].userData), -int32(unix.EAGAIN)})
	}
	r.tail = head
	atomic.StoreUint32(r.sqTail, head)
	r.out = out
	return out
}

func (r *ring) ready() uint32 { return atomic.LoadUint32(r.cqTail) - *r.cqHead }

// push writes slot s as the next entry of the submission queue.
func (r *ring) push(s uint32) {
	sl := &r.slots[s]
	e := &r.sqes[r.tail&r.sqMask]
	r.tail++
	op := r.readOp
	if sl.op == opWrite {
		op = r.writeOp
	}
	*e = sqe{
		opcode: op, flags: r.fileFlags, fd: r.files[sl.file],
		off: uint64(sl.off + sl.done), addr: uint64(sl.buf) + uint64(sl.done), len: uint32(sl.size) - uint32(sl.done),
		userData: uint64(s),
	}
	if r.prios != nil {
		e.ioprio = r.prios[s]
	}
	if r.perPiece > 0 {
		e.bufIndex = uint16(sl.seg / r.perPiece)
	}
}

func (r *ring) priorities(all []uint16) { r.prios = all }

// pop takes everything off the completion queue. For nosplit see clock.now.
//
//go:nosplit
func (r *ring) pop() []completion {
	out := r.out[:0]
	head := *r.cqHead
	for tail := atomic.LoadUint32(r.cqTail); head != tail; head++ {
		c := &r.cqes[head&r.cqMask]
		out = append(out, completion{uint32(c.userData), c.res})
	}
	atomic.StoreUint32(r.cqHead, head)
	r.out = out
	return out
}

// enter submits and waits. It is a raw system call for the reason given at target.expect. It must not be inlined,
// because Go's scheduler can stop the thread at its prologue, after its signal has ended the wait.
//
//go:noinline
func (r *ring) enter(submit uint32, want int, timeout time.Duration) syscall.Errno {
	flags := r.enterFlags | enterGetEvents
	if timeout == forever || want == 0 {
		_, _, errno := syscall.RawSyscall6(sysRingEnter, uintptr(r.enterFD), uintptr(submit), uintptr(want), flags, 0, 0)
		return errno
	}
	// The values are kept in r, which doesn't move as a stack may.
	r.ts = unix.NsecToTimespec(int64(timeout))
	r.arg = getEventsArg{ts: uint64(uintptr(unsafe.Pointer(&r.ts)))}
	_, _, errno := syscall.RawSyscall6(sysRingEnter, uintptr(r.enterFD), uintptr(submit), uintptr(want), flags|enterExtArg, uintptr(unsafe.Pointer(&r.arg)), unsafe.Sizeof(r.arg))
	return errno
}

// close is called by the ring's own thread. A descriptor registered with a thread keeps the ring, its files and its
// pinned buffers until the thread ends, closed or not. Go never ends the first thread of a process, and any goroutine
// may run on it.
func (r *ring) close() error {
	if r.enterFlags&enterRegisteredRing != 0 {
		up := ringUpdate{offset: uint32(r.enterFD)}
		r.registerCall(unregisterRingFDs, unsafe.Pointer(&up), 1)
	}
	if r.mem != nil {
		unix.Munmap(r.mem)
	}
	if r.sqeMem != nil {
		unix.Munmap(r.sqeMem)
	}
	return unix.Close(r.fd)
}
