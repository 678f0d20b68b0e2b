package load

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A target is an open file of a run.
type target struct {
	path string
	fd   int
	size int64
	// dioAlign is the alignment that direct I/O needs in the file; 0 or -1 if unknown.
	dioAlign int64
	// raw: use raw system calls; see expect.
	raw bool
	// ask is the minimum number of bytes that a transfer asks for; at the end of the file it returns fewer. See
	// Job.Tail.
	ask int64
	// mem is the whole file, if it is mapped; through says that each write is synced.
	mem []byte
	// trims: the job discards instead of reading.
	trims   bool
	through bool
}

// openTarget opens a file of the job. It never creates one.
func openTarget(j Job, path string) (*target, error) {
	// Opening a named pipe would wait for its other end. O_NONBLOCK would avoid that, but with it io_uring answers
	// EAGAIN instead of waiting for the disk.
	if st, err := os.Stat(path); err != nil {
		return nil, err
	} else if m := st.Mode(); !m.IsRegular() && m.Type() != os.ModeDevice {
		return nil, fmt.Errorf("%s: neither a regular file nor a block device", path)
	}
	flags := unix.O_RDONLY
	if j.Writes() {
		flags = unix.O_RDWR
	}
	if j.discards() {
		if err := canTrim(path); err != nil {
			return nil, err
		}
	}
	switch j.Sync {
	case "dsync":
		flags |= unix.O_DSYNC
	case "sync":
		flags |= unix.O_SYNC
	}
	if j.Direct {
		flags |= unix.O_DIRECT
	}
	if j.Append {
		flags |= unix.O_APPEND
	}
	fd, err := openRetry(path, flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, openError(j, path, err)
	}
	t := &target{path: path, fd: fd, dioAlign: -1, trims: j.discards()}
	if t.size, err = fileSize(fd); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), t.close())
	}
	if j.Direct {
		_, t.dioAlign = dioAlignment(fd)
	}
	if j.IOEngine == MMap {
		if err := t.mapFile(j); err != nil {
			return nil, errors.Join(err, t.close())
		}
		return t, nil
	}
	if advice, ok := map[string]int{Random: unix.FADV_RANDOM, Sequential: unix.FADV_SEQUENTIAL}[j.Hint]; ok {
		// Advise on the whole file: the kernel keeps the advice per open file, not per range.
		if err := unix.Fadvise(fd, 0, 0, advice); err != nil {
			return nil, errors.Join(fmt.Errorf("hint %s for %s: %w", j.Hint, path, err), t.close())
		}
	}
	return t, nil
}

// mustBe returns an error unless the target is the same file as f.
func (t *target) mustBe(f *os.File) error {
	var own, other unix.Stat_t
	if err := unix.Fstat(t.fd, &own); err != nil {
		return &os.PathError{Op: "stat", Path: t.path, Err: err}
	}
	if err := unix.Fstat(int(f.Fd()), &other); err != nil {
		return &os.PathError{Op: "stat", Path: t.path, Err: err}
	}
	if own.Dev != other.Dev || own.Ino != other.Ino {
		return &ReplacedError{t.path}
	}
	return nil
}

func openRetry(path string, flags int, mode uint32) (fd int, err error) {
	err = uninterrupted(func() error {
		fd, err = unix.Open(path, flags, mode)
		return err
	})
	return fd, err
}

// uninterrupted repeats a system call that a signal interrupts, such as the runtime's own SIGURG. Many calls that wait
// are interrupted, on FUSE nearly any.
func uninterrupted(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// openError distinguishes a file system without direct I/O from other causes: EINVAL with O_DIRECT, on a file that
// opens without it.
func openError(j Job, path string, err error) error {
	if j.Direct && errors.Is(err, unix.EINVAL) {
		return &DirectError{Path: path, Err: err}
	}
	open := &os.PathError{Op: "open", Path: path, Err: err}
	if errors.Is(err, unix.EMFILE) {
		return fmt.Errorf("%w: a process may have %s here (RLIMIT_NOFILE); take fewer files, or allow more (ulimit -Hn)", open, openFiles())
	}
	return open
}

// fileSize returns the length of a regular file or a block device.
func fileSize(fd int) (int64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFBLK {
		return unix.Seek(fd, 0, unix.SEEK_END)
	}
	return st.Size, nil
}

// dropCache drops n bytes from off on from the page cache. Dirty and mapped pages stay (posix_fadvise(2)).
func (t *target) dropCache(off, n int64) {
	_ = unix.Fadvise(t.fd, off, n, unix.FADV_DONTNEED)
}

// expect chooses the kind of system call for job j; resident is the share of its region in the page cache.
//
// I/O that never waits uses raw calls. Go's scheduler need not know of them, because each thread has its own processor
// (raiseProcs), and informing it costs some 80 ns, a tenth of a read from the page cache. I/O that may take a device's
// time informs the scheduler: direct I/O, synchronous and throttled writes, and reads that miss the cache. A thread in
// a raw call can't be stopped, and all others would wait for it when the garbage collector stops the world: 0.9 ms at
// the median and 13 at most with reads of a cold file.
func (t *target) expect(j Job, resident float64) {
	t.raw = !j.Direct && !j.DropCache && j.Sync == "" && !j.Writes() && resident == 1
}

// transfer attempts the rest of the slot's I/O.
func (t *target) transfer(s *slot) int32 {
	switch {
	case t.mem != nil:
		return t.copy(s)
	case t.trims && s.op == opRead:
		return t.discard(s)
	}
	call := uintptr(unix.SYS_PREAD64)
	if s.op == opWrite {
		call = unix.SYS_PWRITE64
	}
	fd, buf, n, off := uintptr(t.fd), s.buf+uintptr(s.done), uintptr(max(int64(s.size), t.ask)-s.done), uintptr(s.off+s.done)
	var errno syscall.Errno
	if t.raw {
		n, _, errno = syscall.RawSyscall6(call, fd, buf, n, off, 0, 0)
	} else {
		n, _, errno = syscall.Syscall6(call, fd, buf, n, off, 0, 0)
	}
	if errno != 0 {
		return -int32(errno)
	}
	return int32(n)
}

func (t *target) sync(dataOnly bool) error {
	return uninterrupted(func() error {
		if dataOnly {
			return unix.Fdatasync(t.fd)
		}
		return unix.Fsync(t.fd)
	})
}

func (t *target) close() error { return errors.Join(t.unmap(), unix.Close(t.fd)) }

// flush closes a duplicate descriptor of the file, which for the file system is the same as closing the last one
// (close(2)).
func (t *target) flush() error {
	fd, err := unix.FcntlInt(uintptr(t.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// mapMemory returns n bytes of zeros outside Go's heap, page aligned and present, so that no page fault is measured.
func mapMemory(n int64) ([]byte, error) { return mapPrivate(n, unix.MAP_POPULATE) }

// mapUntouched is mapMemory without allocated pages: the kernel allocates each page when it is first touched.
func mapUntouched(n int64) ([]byte, error) { return mapPrivate(n, 0) }

func mapPrivate(n int64, flags int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	return unix.Mmap(-1, 0, int(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|flags)
}

// mapLarge is mapMemory in huge pages; enough of them must be available.
func mapLarge(n int64) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	n = (n + largePage - 1) &^ (largePage - 1)
	p, err := unix.Mmap(-1, 0, int(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE|unix.MAP_HUGETLB)
	if err != nil {
		return nil, fmt.Errorf("large_pages: %d MiB of large pages: %w; reserve %d of 2 MiB (sysctl vm.nr_hugepages), or leave it out", n>>20, err, n/largePage)
	}
	return p, nil
}

// largePage is the unit of the length of a mapping of huge pages: their usual size on amd64 and arm64, 2 MiB.
const largePage = 2 << 20

func unmapMemory(p []byte) error {
	if p == nil {
		return nil
	}
	return unix.Munmap(p)
}

// tightenTimers lowers the thread's timer slack from 50 us to the minimum.
func tightenTimers() {
	// If this fails, only precision is lost.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}

// sleep sleeps in the kernel, without Go's scheduler, whose wake-up would take a second thread.
func sleep(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	// A signal may end the sleep early; every caller checks the clock again.
	syscall.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
}

// systemEngines are the engines that this system knows, from the strongest to the weakest.
var systemEngines = []string{IOUring, LinuxAIO, PSync, Null}

// newAsync returns the named engine for one thread, or nil for psync.
func newAsync(name string, f []*target, slots []slot, b *buffers) (asyncEngine, error) {
	// A nil *ring in an interface would not be nil.
	switch name {
	case IOUring:
		if r, err := newRing(f, slots, b); err != nil {
			return nil, err
		} else {
			return r, nil
		}
	case LinuxAIO:
		if a, err := newAIO(f, slots); err != nil {
			return nil, err
		} else {
			return a, nil
		}
	}
	return nil, nil
}
