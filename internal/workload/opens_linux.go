package workload

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// An opens notices that files are opened, or closed after writing, from their add on. It sees Plimsoll's own opens, too: it is for times in
// which Plimsoll opens and closes none of them. inotify(7) costs nothing until a file is opened, needs no privilege, and says that somebody
// came, not who. A lease (fcntl(2)) would say so before the write, but Plimsoll's own threads would break it.
type opens struct {
	fd    int
	files map[int32]bool // by their watches: whether it was opened
	blind bool           // It can't see, and says so of all.
}

// newOpens returns one that watches nothing yet. Where the kernel gives none, it says of each file that it was opened.
func newOpens() *opens {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	return &opens{fd: fd, files: map[int32]bool{}, blind: err != nil}
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

// seen reports whether a file was opened since its add, or can't be watched.
func (o *opens) seen(wd int32) bool {
	var p [4096]byte
	for !o.blind {
		n, err := unix.Read(o.fd, p[:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n <= 0 {
			o.blind = !errors.Is(err, unix.EAGAIN)
			break
		}
		for b := p[:n]; len(b) >= unix.SizeofInotifyEvent; {
			of, mask, name := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:]), binary.NativeEndian.Uint32(b[12:])
			o.files[of] = true
			o.blind = o.blind || mask&unix.IN_Q_OVERFLOW != 0
			b = b[unix.SizeofInotifyEvent+int(name):]
		}
	}
	return o.blind || wd < 0 || o.files[wd]
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
	for range 50 {
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
		if !errors.Is(err, unix.EAGAIN) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err == nil {
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return errors.Is(err, unix.EAGAIN)
}
