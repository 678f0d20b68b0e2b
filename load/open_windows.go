package load

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// how holds the flags with which each thread of overlapped I/O opens the file again.
type how struct{ access, flags uint32 }

// openFile opens the file of a job: unbuffered for direct I/O (FILE_FLAG_NO_BUFFERING), through the disk's cache for
// synchronous writes (FILE_FLAG_WRITE_THROUGH).
func openFile(j Job, path string) (*os.File, how, error) {
	h := how{access: windows.GENERIC_READ}
	if j.discards() {
		return nil, h, canTrim(path)
	}
	if j.writes() {
		h.access |= windows.GENERIC_WRITE
	}
	if j.Direct {
		h.flags |= windows.FILE_FLAG_NO_BUFFERING
	}
	if j.Sync != "" {
		h.flags |= windows.FILE_FLAG_WRITE_THROUGH
	}
	switch j.Hint {
	case Random:
		h.flags |= windows.FILE_FLAG_RANDOM_ACCESS
	case Sequential:
		h.flags |= windows.FILE_FLAG_SEQUENTIAL_SCAN
	}
	if j.IOEngine == IOUring || j.IOEngine == LinuxAIO || j.IOEngine == MMap {
		return nil, h, &EngineError{j.IOEngine, "only Linux has it; use " + WindowsIOCP + " or psync", ErrNotSupported}
	}
	f, err := openHandle(path, h.access, h.flags)
	if err != nil {
		return nil, h, err
	}
	return os.NewFile(uintptr(f), path), h, nil
}

func openHandle(path string, access, flags uint32) (windows.Handle, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, &os.PathError{Op: "open", Path: path, Err: err}
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(name, access, share, nil, windows.OPEN_EXISTING, windows.FILE_ATTRIBUTE_NORMAL|flags, 0)
	if err != nil {
		return 0, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return h, nil
}

// errnoResult converts the error of an I/O to its result.
func errnoResult(err error) int32 {
	var errno syscall.Errno
	if errors.As(err, &errno) && errno > 0 && errno < 1<<30 {
		return -int32(errno)
	}
	return -int32(windows.ERROR_IO_DEVICE)
}

// mapMemory returns n bytes that begin on a page, which unbuffered I/O needs.
func mapMemory(n int64) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	addr, err := windows.VirtualAlloc(0, uintptr(n), windows.MEM_COMMIT|windows.MEM_RESERVE, windows.PAGE_READWRITE)
	if err != nil {
		return nil, fmt.Errorf("VirtualAlloc of %d bytes: %w", n, err)
	}
	// The detour over the variable's address satisfies vet: the memory isn't Go's.
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&addr))), n), nil
}

// mapUntouched is mapMemory: the system gives each page when it is first touched.
func mapUntouched(n int64) ([]byte, error) { return mapMemory(n) }

func mapLarge(int64) ([]byte, error) {
	return nil, fmt.Errorf("large_pages: only Linux has them here: %w", ErrNotSupported)
}

func unmapMemory(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	return windows.VirtualFree(uintptr(unsafe.Pointer(unsafe.SliceData(p))), 0, windows.MEM_RELEASE)
}

func newAsync(name string, files []*target, slots []slot, _ *buffers) (asyncEngine, error) {
	switch name {
	case PSync:
		return nil, nil
	case WindowsIOCP:
		// A nil *iocp in an interface would not be nil.
		if e, err := newIOCP(files, slots); err != nil {
			return nil, err
		} else {
			return e, nil
		}
	}
	return nil, &EngineError{name, "only Linux has it; use " + WindowsIOCP + " or psync", ErrNotSupported}
}
