package device

import (
	"os"

	"golang.org/x/sys/unix"
)

// backing asks the kernel for the file of a loop device (LOOP_GET_STATUS64). It takes the right to open the device.
func backing(name string) (dev, inode uint64, err error) {
	f, err := os.Open("/dev/" + name)
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

func numberOf(dev uint64) (major, minor uint32) { return unix.Major(dev), unix.Minor(dev) }
