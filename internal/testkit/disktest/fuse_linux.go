package disktest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Operations of the FUSE protocol (linux/fuse.h).
const (
	fuseLookup  = 1
	fuseForget  = 2
	fuseGetattr = 3
	fuseInit    = 26
)

// FUSE mounts an empty file system that this process serves.
func FUSE(t testing.TB) string {
	t.Helper()
	needRoot(t, "serves a file system")
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("needs /dev/fuse: %v", err)
	}
	var serving sync.WaitGroup
	t.Cleanup(func() {
		serving.Wait() // Until the unmount ends it.
		unix.Close(fd)
	})
	dir := Mount(t, "there:/x", "fuse.plimsolltest", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd))
	serving.Go(func() { serveFUSE(fd) })
	return dir
}

// serveFUSE answers requests until the file system is unmounted.
func serveFUSE(fd int) {
	e := binary.NativeEndian
	request := make([]byte, 1<<18)
	for {
		n, err := unix.Read(fd, request)
		// ENOENT means that the request was cancelled.
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil || n < 40 {
			return
		}
		body, errno := []byte(nil), unix.Errno(0)
		switch e.Uint32(request[4:]) {
		case fuseForget:
			continue
		case fuseInit:
			body = make([]byte, 64)
			e.PutUint32(body[0:], 7)
			e.PutUint32(body[4:], 31)
			e.PutUint32(body[20:], 1<<16) // max_write
		case fuseGetattr:
			body = make([]byte, 104)
			e.PutUint64(body[16:], 1) // The node's number, then a folder with two links.
			e.PutUint32(body[76:], unix.S_IFDIR|0o755)
			e.PutUint32(body[80:], 2)
		case fuseLookup:
			errno = unix.ENOENT
		default:
			errno = unix.ENOSYS
		}
		reply := make([]byte, 16, 16+len(body))
		e.PutUint32(reply[0:], uint32(16+len(body)))
		e.PutUint32(reply[4:], uint32(-int32(errno)))
		copy(reply[8:16], request[8:16])
		if _, err := unix.Write(fd, append(reply, body...)); err != nil && !errors.Is(err, unix.ENOENT) {
			return
		}
	}
}
