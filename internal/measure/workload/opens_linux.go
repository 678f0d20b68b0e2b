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

// An opens notices that files are opened, or closed after writing, from their add on. It sees Plimsoll's own opens, too: it is for times in
// which Plimsoll opens and closes none of them. inotify(7) costs nothing until a file is opened, needs no privilege, and says that somebody
// came, not who. A lease (fcntl(2)) would say so before the write, but Plimsoll's own threads would break it.
type opens struct {
	fd    int
	files map[int32]uint32 // by their watches: what happened to each
	blind bool             // It can't see, and says so of all.
}

// newOpens returns one that watches nothing yet. Where the kernel gives none, it says of each file that it was opened.
func newOpens() *opens {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	return &opens{fd: fd, files: map[int32]uint32{}, blind: err != nil}
}

// add begins to watch a file, and returns what seen asks for.
func (o *opens) add(fd uintptr) int32 {
	if o.blind {
		return -1
	}
	// The file that is open, whatever its path leads to.
	wd, err := unix.InotifyAddWatch(o.fd, fmt.Sprintf("/proc/self/fd/%d", fd), unix.IN_OPEN|unix.IN_CLOSE_WRITE)
	if err != nil {
		return -1
	}
	return int32(wd)
}

// seen reports whether a file was opened since its add, and whether it was closed after it had been open for writing; both if it can't be
// watched. How often is not known: the kernel makes one of two events that are alike.
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

// openedElsewhere reports whether the file at path is open for writing, which a lease for reading finds out. It waits for a moment, as the
// kernel closes the files of an ended io_uring late. False where the file system has no leases, or the file is another user's.
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

// unwritten reports whether no program has the claim's file open for writing, and the file is in its noted state. The stage's own files are closed by then, but for
// the claim's: that is open for reading only from here on.
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
