package device

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// backing asks the kernel for the file of a loop device (LOOP_GET_STATUS64). The caller must be allowed to open the device.
func backing(name string) (dev, inode uint64, err error) {
	f, err := os.Open(NodePath(name))
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	info, err := unix.IoctlLoopGetStatus64(int(f.Fd()))
	if err != nil {
		return 0, 0, &os.PathError{Op: "LOOP_GET_STATUS64", Path: name, Err: err}
	}
	return info.Device, info.Inode, nil
}

// sameFile reports whether path is the file with an inode on a file system.
func sameFile(path string, dev, inode uint64) bool {
	var st unix.Stat_t
	return unix.Stat(path, &st) == nil && st.Dev == dev && st.Ino == inode
}

// sameRoot reports whether upper looks like the upper folder of the overlay mounted at overlay: both have the same mode, the same
// times, to the nanosecond, and the same size of file system.
func sameRoot(overlay, upper string) bool {
	var a, b unix.Stat_t
	var fa, fb unix.Statfs_t
	if unix.Stat(overlay, &a) != nil || unix.Lstat(upper, &b) != nil || unix.Statfs(overlay, &fa) != nil || unix.Statfs(upper, &fb) != nil {
		return false
	}
	return fa.Type == unix.OVERLAYFS_SUPER_MAGIC && fa.Blocks == fb.Blocks && fa.Bsize == fb.Bsize && a.Mode == b.Mode && a.Ctim == b.Ctim && a.Mtim == b.Mtim
}

// memoryFiles is the device number of the file system that holds files without a name (memfd_create(2)), 0 if it isn't known.
var memoryFiles = sync.OnceValue(func() uint64 {
	fd, err := unix.MemfdCreate("plimsoll", unix.MFD_CLOEXEC)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return 0
	}
	return st.Dev
})
