package loop

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// attachTries bounds how often another process may take the free loop device first.
const attachTries = 20

// Attach attaches an open file to a free loop device, with direct I/O if the file's file system has that (Direct reports it). The
// name of the result is the device's path. The device is detached when the result is closed, unless it is mounted by then.
func Attach(f *os.File) (*os.File, error) {
	// The device keeps the open file that it gets, and with it a lock of that (flock(2)). So it gets one of its own.
	f, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("there is no loop device: %w", err)
	}
	defer control.Close()
	for range attachTries {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("no loop device is free: %w", err)
		}
		path := "/dev/loop" + strconv.Itoa(n)
		loop, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return nil, fmt.Errorf("the free loop device can't be opened: %w", err)
		}
		// Since Linux 5.8.
		config := unix.LoopConfig{
			Fd: uint32(f.Fd()), Size: blockSize(f),
			Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR | unix.LO_FLAGS_DIRECT_IO},
		}
		err = unix.IoctlLoopConfigure(int(loop.Fd()), &config)
		if err == nil {
			return loop, nil
		}
		loop.Close()
		if !errors.Is(err, unix.EBUSY) {
			return nil, fmt.Errorf("attach it to %s: %w", path, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil, errors.New("other processes took every free loop device")
}

// blockSize returns the device's block size that direct I/O to a file needs. 0: it isn't known, and the kernel chooses. Before
// Linux 6.13 it chooses 512 bytes, and silently does without direct I/O where that is too small.
func blockSize(f *os.File) uint32 {
	var st unix.Statx_t
	err := eintr.Retry(func() error { return unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_DIOALIGN, &st) })
	if err != nil || st.Mask&unix.STATX_DIOALIGN == 0 || st.Dio_offset_align < 512 || st.Dio_offset_align > 4096 {
		return 0
	}
	return st.Dio_offset_align
}
