package load

import (
	"errors"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// systemEngines are the engines that this system knows, from the strongest to the weakest. Those of Linux are listed so
// that errors can name them.
var systemEngines = []string{WindowsIOCP, IOUring, LinuxAIO, PSync, Null}

// x/sys has only GetQueuedCompletionStatus, which returns one completion per call.
var getCompletions = kernel32.NewProc("GetQueuedCompletionStatusEx")

// completionEntry is OVERLAPPED_ENTRY (minwinbase.h).
type completionEntry struct {
	key        uintptr
	overlapped *request
	internal   uintptr
	bytes      uint32
}

// A request is an OVERLAPPED followed by the number of its slot.
type request struct {
	windows.Overlapped
	slot uint32
}

// iocp is overlapped I/O of one thread. It has a completion port and its own file handles, because a handle belongs to
// one port.
type iocp struct {
	port     windows.Handle
	files    []windows.Handle
	slots    []slot
	requests []request
	entries  []completionEntry
	out      []completion
}

func newIOCP(files []*target, slots []slot) (_ *iocp, err error) {
	e := &iocp{slots: slots, requests: make([]request, len(slots)), entries: make([]completionEntry, len(slots)), out: make([]completion, 0, len(slots))}
	defer func() {
		if err != nil {
			err = errors.Join(&EngineError{WindowsIOCP, err.Error(), err}, e.close())
		}
	}()
	if e.port, err = windows.CreateIoCompletionPort(windows.InvalidHandle, 0, 0, 1); err != nil {
		return nil, os.NewSyscallError("CreateIoCompletionPort", err)
	}
	for _, f := range files {
		h, err := openHandle(f.path, f.access, f.flags|windows.FILE_FLAG_OVERLAPPED)
		if err != nil {
			return nil, err
		}
		e.files = append(e.files, h)
		if _, err := windows.CreateIoCompletionPort(h, e.port, 0, 0); err != nil {
			return nil, os.NewSyscallError("CreateIoCompletionPort", err)
		}
	}
	for i := range e.requests {
		e.requests[i].slot = uint32(i)
	}
	return e, nil
}

// run implements asyncEngine.
func (e *iocp) run(batch []uint32, want int, timeout time.Duration) ([]completion, error) {
	e.out = e.out[:0]
	for _, s := range batch {
		e.start(s)
	}
	until := time.Now().Add(timeout)
	for {
		// I/Os that failed at once are already in out; otherwise one call returns all that are complete.
		ms := uint32(0)
		if len(e.out) < want {
			ms = windows.INFINITE
			if timeout != forever {
				ms = uint32(max(time.Until(until), 0) / time.Millisecond)
			}
		}
		n, err := e.take(ms)
		if err != nil {
			return nil, err
		}
		if len(e.out) >= want || n == 0 && timeout != forever && ms == 0 {
			return e.out, nil
		}
	}
}

// start begins the rest of the slot's I/O. An I/O that completes at once is also reported by the port.
func (e *iocp) start(s uint32) {
	sl, r := &e.slots[s], &e.requests[s]
	at := uint64(sl.off + sl.done)
	r.Overlapped = windows.Overlapped{Offset: uint32(at), OffsetHigh: uint32(at >> 32)}
	p := unsafe.Slice((*byte)(sl.ptr()), sl.size)[sl.done:]
	var err error
	if sl.op == opWrite {
		err = windows.WriteFile(e.files[sl.file], p, nil, &r.Overlapped)
	} else {
		err = windows.ReadFile(e.files[sl.file], p, nil, &r.Overlapped)
	}
	if err != nil && !errors.Is(err, windows.ERROR_IO_PENDING) {
		e.out = append(e.out, completion{s, errnoResult(err)})
	}
}

// take collects completions. It waits at most ms milliseconds for the first.
func (e *iocp) take(ms uint32) (int, error) {
	var n uint32
	ok, _, err := getCompletions.Call(uintptr(e.port), uintptr(unsafe.Pointer(&e.entries[0])), uintptr(len(e.entries)),
		uintptr(unsafe.Pointer(&n)), uintptr(ms), 0)
	if ok == 0 {
		if errors.Is(err, windows.WAIT_TIMEOUT) {
			return 0, nil
		}
		return 0, os.NewSyscallError("GetQueuedCompletionStatusEx", err)
	}
	for i := range e.entries[:n] {
		c := &e.entries[i]
		res := int32(c.bytes)
		if status := windows.NTStatus(c.overlapped.Internal); status != windows.STATUS_SUCCESS {
			res = -int32(status.Errno())
		}
		e.out = append(e.out, completion{c.overlapped.slot, res})
	}
	return int(n), nil
}

// close implements asyncEngine.
func (e *iocp) close() error {
	var errs []error
	for _, h := range e.files {
		errs = append(errs, windows.CloseHandle(h))
	}
	if e.port != 0 {
		errs = append(errs, windows.CloseHandle(e.port))
	}
	return errors.Join(errs...)
}
