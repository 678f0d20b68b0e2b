//go:build !linux

package load

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// A target is an open file of a run.
type target struct {
	path     string
	f        *os.File
	size     int64
	dioAlign int64
	ask      int64 // as on Linux
	how
}

func openTarget(j Job, path string) (*target, error) {
	f, h, err := openFile(j, path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &target{path: path, f: f, size: st.Size(), dioAlign: -1, how: h}, nil
}

// mustBe returns an error unless the target is the same file as f.
func (t *target) mustBe(f *os.File) error {
	own, err := t.f.Stat()
	if err != nil {
		return err
	}
	other, err := f.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(own, other) {
		return &ReplacedError{t.path}
	}
	return nil
}

// dropCache does nothing on this system.
func (t *target) dropCache(_, _ int64) {}

// expect has nothing to choose on this system.
func (t *target) expect(Job, float64) {}

// transfer attempts the rest of the slot's I/O.
func (t *target) transfer(s *slot) int32 {
	p := unsafe.Slice((*byte)(s.ptr()), max(int64(s.size), t.ask))[s.done:]
	var n int
	var err error
	if s.op == opWrite {
		n, err = t.f.WriteAt(p, s.off+s.done)
	} else {
		n, err = t.f.ReadAt(p, s.off+s.done)
	}
	var errno syscall.Errno
	switch {
	case n > 0 || err == nil || errors.Is(err, io.EOF):
		return int32(n)
	case errors.As(err, &errno) && errno > 0 && errno < 1<<30:
		return -int32(errno)
	}
	return -int32(syscall.EIO)
}

// ptr returns the buffer. The detour over the field's address satisfies vet; the thread's buffers hold the memory.
func (s *slot) ptr() unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&s.buf)) }

// sync syncs the file. Go has fdatasync on Linux only.
func (t *target) sync(bool) error { return t.f.Sync() }

func (t *target) close() error { return t.f.Close() }

func (t *target) flush() error { return nil }

func tightenTimers() {}

func sleep(d time.Duration) { time.Sleep(d) }

func resultError(res int32) error {
	if res < 0 {
		return syscall.Errno(-res)
	}
	return io.ErrShortWrite
}

// ProcessUsage returns nothing: the usage of the process is unknown on this system.
func ProcessUsage() Usage { return Usage{} }

func threadUsage() ThreadUsage { return ThreadUsage{} }

func inspectPath(path string, _, _ int64) (FileInfo, error) {
	st, err := os.Stat(path)
	if err != nil {
		return FileInfo{}, err
	}
	return unknownInfo(st.Size()), nil
}

func (t *target) inspect(_, _ int64, _ bool) (FileInfo, error) { return unknownInfo(t.size), nil }
