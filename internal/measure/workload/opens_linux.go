package workload

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// An opens watches files, and notices when one is opened or closed after writing. It sees Plimsoll's own opens, too, so it
// is for times in which Plimsoll opens and closes none of them. inotify(7) costs nothing until a file is opened and needs
// no privilege; it doesn't say which process opened it. A lease (fcntl(2)) would notice before the write, but Plimsoll's
// own threads would break it.
type opens struct {
	fd    int
	files map[int32]uint32 // by watch: the events of each file
	blind bool             // It can't watch, and reports every file as opened.
}

// newOpens returns an opens without files. If the kernel gives no inotify, it reports every file as opened.
func newOpens() *opens {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	return &opens{fd: fd, files: map[int32]uint32{}, blind: err != nil}
}

// add begins to watch a file, and returns the watch for seen.
func (o *opens) add(fd uintptr) int32 {
	if o.blind {
		return -1
	}
	// The open file itself, even if its path now leads elsewhere.
	wd, err := unix.InotifyAddWatch(o.fd, fmt.Sprintf("/proc/self/fd/%d", fd), unix.IN_OPEN|unix.IN_CLOSE_WRITE)
	if err != nil {
		return -1
	}
	return int32(wd)
}

// seen reports whether a file was opened since its add, and whether it was closed after it had been open for writing; both
// if it can't be watched. The number of opens is unknown: the kernel merges equal events.
func (o *opens) seen(wd int32) (opened, written bool) {
	var p [4096]byte
	for !o.blind {
		n, err := eintr.Value(func() (int, error) { return unix.Read(o.fd, p[:]) })
		if err != nil || n <= 0 {
			o.blind = !errors.Is(err, unix.EAGAIN)
			break
		}
		for b := p[:n]; len(b) >= unix.SizeofInotifyEvent; {
			of, mask, name := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:]), binary.NativeEndian.Uint32(b[12:])
			o.files[of] |= mask
			o.blind = o.blind || mask&unix.IN_Q_OVERFLOW != 0
			b = b[unix.SizeofInotifyEvent+int(name):]
		}
	}
	if o.blind || wd < 0 {
		return true, true
	}
	return o.files[wd] != 0, o.files[wd]&unix.IN_CLOSE_WRITE != 0
}

func (o *opens) close() {
	if o.fd >= 0 {
		unix.Close(o.fd)
		o.fd, o.blind = -1, true
	}
}

// openedElsewhere reports whether the file at path is open for writing, by trying to take a lease for reading. It waits for
// a moment, because the kernel closes the files of an ended io_uring late. It is false if the file system has no leases, or
// the file is another user's.
func openedElsewhere(path string) bool {
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return false
	}
	f, err := openLook(path, false)
	if err != nil {
		return false
	}
	defer f.Close()
	some, _ := writers(f)
	return some
}

// writers reports whether a file is open for writing, and whether that is known. f is open for reading.
func writers(f *os.File) (some, known bool) {
	var err error
	for range 50 {
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
		if !errors.Is(err, unix.EAGAIN) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err == nil {
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
		return false, true
	}
	return errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EAGAIN)
}

// unwritten reports whether no program has the claim's file open for writing, and the file is in its noted state. The stage
// has closed its own files by then, except the claim's, which is open for reading only.
func (c *claim) unwritten() bool {
	f, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", c.file.Fd()))
	if err != nil {
		return false
	}
	c.file.Close()
	c.file = f
	some, known := writers(f)
	state, err := exactState(f)
	return known && !some && err == nil && state == c.state
}
