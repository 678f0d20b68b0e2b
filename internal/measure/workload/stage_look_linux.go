package workload

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// openLook opens a file to look at it, and to cut it if it may be written. A pipe that takes the file's place meanwhile doesn't
// block it.
func openLook(path string, write bool) (*os.File, error) {
	flags := os.O_RDONLY
	if write {
		flags = os.O_RDWR
	}
	return os.OpenFile(path, flags|unix.O_NONBLOCK, 0)
}

// createNew makes a file where there is none, and follows no link to elsewhere.
func createNew(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o644)
}

// interfaces are the file systems whose files are switches of the kernel and not storage (statfs(2)).
var interfaces = []int64{
	unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC,
	unix.SECURITYFS_MAGIC, unix.SELINUX_MAGIC, unix.SMACK_MAGIC, unix.BPF_FS_MAGIC, unix.EFIVARFS_MAGIC, unix.PSTOREFS_MAGIC, unix.BINFMTFS_MAGIC,
	unix.DEVPTS_SUPER_MAGIC, unix.NSFS_MAGIC, unix.XENFS_SUPER_MAGIC,
	0x62656570, // configfs (fs/configfs/mount.c)
	0x07655821, // resctrl (include/uapi/linux/magic.h)
	0x65735543, // fusectl (fs/fuse/control.c)
	0x19800202, // mqueue (ipc/mqueue.c)
}

// notStorage is an error for a file that is a switch of the kernel, and for a folder of such files.
func notStorage(f *os.File) error {
	var st unix.Statfs_t
	if err := eintr.Retry(func() error { return unix.Fstatfs(int(f.Fd()), &st) }); err != nil {
		return &os.PathError{Op: "statfs", Path: f.Name(), Err: err}
	}
	if slices.Contains(interfaces, int64(st.Type)) {
		return &NoStorageError{fmt.Sprintf("%s is an interface of the kernel and not storage: it is never written to", f.Name())}
	}
	return nil
}

// noRoom is an error for a file that is to be made where no data is kept: among the kernel's interfaces, or in /dev, where a name
// without a device is a mistyped one.
func noRoom(path string) error {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil // What makes the file says why it can't.
	}
	defer folder.Close()
	if err := notStorage(folder); err != nil {
		return err
	}
	var in, dev, root unix.Stat_t
	if errors.Join(unix.Fstat(int(folder.Fd()), &in), unix.Stat("/dev", &dev), unix.Stat("/", &root)) != nil {
		return nil // What can't be looked at is judged by the open.
	}
	if in.Dev == dev.Dev && dev.Dev != root.Dev {
		return &NoStorageError{fmt.Sprintf("there is no device %s, and a file made there would lie in memory", path)}
	}
	return nil
}
