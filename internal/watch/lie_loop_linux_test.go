package watch

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/disktest"
)

// loopFile is the environment's key for the file that TestEventLoopChild writes.
const loopFile = "PLIMSOLL_TEST_EVENT_LOOP"

// An iocb is struct iocb of linux/aio_abi.h.
type iocb struct {
	_              [2]uint64
	opcode, _      uint16
	fd             uint32
	buf, n, offset uint64
	_              uint64
	flags, eventfd uint32
}

// TestEventLoopChild is a program that writes by libaio and waits for its writes in epoll, by an eventfd, as an event loop does.
func TestEventLoopChild(t *testing.T) {
	name := os.Getenv(loopFile)
	if name == "" {
		return // It is a program of TestLieEventLoop's.
	}
	runtime.LockOSThread() // As in a program of C: watch follows threads.
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_CREAT|unix.O_DIRECT, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	const depth, bs = 8, 4096
	mem, err := unix.Mmap(-1, 0, bs, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	var ctx uintptr
	if _, _, e := unix.Syscall(unix.SYS_IO_SETUP, depth, uintptr(unsafe.Pointer(&ctx)), 0); e != 0 {
		t.Fatal(e)
	}
	ev, err := unix.Eventfd(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	ep, err := unix.EpollCreate1(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, ev, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(ev)}); err != nil {
		t.Fatal(err)
	}
	at := uint64(0)
	submit := func() {
		// IOCB_CMD_PWRITE, IOCB_FLAG_RESFD.
		c := &iocb{opcode: 1, fd: uint32(fd), buf: uint64(uintptr(unsafe.Pointer(&mem[0]))), n: bs, offset: at % (1 << 20), flags: 1, eventfd: uint32(ev)}
		at += bs
		if _, _, e := unix.Syscall(unix.SYS_IO_SUBMIT, ctx, 1, uintptr(unsafe.Pointer(&c))); e != 0 {
			t.Fatal(e)
		}
	}
	for range depth {
		submit()
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if _, err := unix.EpollWait(ep, make([]unix.EpollEvent, 1), 1000); err != nil {
			continue
		}
		var done [depth][4]uint64
		n, _, e := unix.Syscall6(unix.SYS_IO_GETEVENTS, ctx, 0, depth, uintptr(unsafe.Pointer(&done)), uintptr(unsafe.Pointer(&unix.Timespec{})), 0)
		if e != 0 {
			t.Fatal(e)
		}
		unix.Read(ev, make([]byte, 8))
		for range n {
			submit()
		}
	}
}

// limited runs a program in a group that may write 200 times a second, until watch finds it at its limit, and returns what watch says.
func limited(t *testing.T, program func(dir string) string) Usage {
	t.Helper()
	dev, dir := disktest.Disk(t, disktest.Options{Size: 64 * mib, Direct: true})
	l := newLab(t, []string{dev}, []string{dir})
	if err := l.group.Put("blkio.throttle.write_iops_device", disktest.Number(t, dev)+" 200"); err != nil {
		t.Fatal(err)
	}
	l.background(program(dir))
	var u Usage
	for i := range 10 { // It takes a while to begin, so that the first interval says little, and a busy machine to reach the limit.
		if u, _ = l.over(2*time.Second, func() {}); i > 0 && len(u.Rates) == 2 && u.Rates[1].Standing == At {
			return u
		}
	}
	t.Fatalf("it isn't at its limit: %+v", u.Rates)
	return u
}

// TestLieEventLoop: an event loop that waits in epoll for its libaio is seen to wait. Before, its WAITS were 0 %.
func TestLieEventLoop(t *testing.T) {
	t.Parallel()
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	u := limited(t, func(dir string) string {
		return "env " + loopFile + "=" + filepath.Join(dir, "data") + " " + me + " -test.run 'TestEventLoopChild$'"
	})
	if u.WaitTime == nil || u.WaitTime.Seconds < 1 || u.WaitTime.From != "event loop" {
		t.Errorf("it waited for %+v of 2 s, want most, in its event loop", u.WaitTime)
	}
}
