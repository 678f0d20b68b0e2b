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

// openLook opens a file to examine it, for writing if write is set. It doesn't block if a pipe has taken the file's place.
func openLook(path string, write bool) (*os.File, error) {
	flags := os.O_RDONLY
	if write {
		flags = os.O_RDWR
	}
	return os.OpenFile(path, flags|unix.O_NONBLOCK, 0)
}

// createNew makes a file, and fails if there is one. It doesn't follow a link.
func createNew(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o644)
}

// interfaces are the file systems whose files control the kernel and store nothing (statfs(2)).
var interfaces = []int64{
	unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC,
	unix.SECURITYFS_MAGIC, unix.SELINUX_MAGIC, unix.SMACK_MAGIC, unix.BPF_FS_MAGIC, unix.EFIVARFS_MAGIC, unix.PSTOREFS_MAGIC, unix.BINFMTFS_MAGIC,
	unix.DEVPTS_SUPER_MAGIC, unix.NSFS_MAGIC, unix.XENFS_SUPER_MAGIC,
	0x62656570, // configfs (fs/configfs/mount.c)
	0x07655821, // resctrl (include/uapi/linux/magic.h)
	0x65735543, // fusectl (fs/fuse/control.c)
	0x19800202, // mqueue (ipc/mqueue.c)
}

// notStorage returns an error for a file that controls the kernel, and for a folder of such files.
func notStorage(f *os.File) error {
	var st unix.Statfs_t
	if err := eintr.Retry(func() error { return unix.Fstatfs(int(f.Fd()), &st) }); err != nil {
		return &os.PathError{Op: "statfs", Path: f.Name(), Err: err}
	}
	if slices.Contains(interfaces, int64(st.Type)) {
		return &NoStorageError{fmt.Sprintf("%s is an interface of the kernel, not storage: Plimsoll never writes to it", f.Name())}
	}
	return nil
}

// noRoom returns an error for a file that would be made where no data is kept: among the kernel's interfaces, or in /dev,
// where a name without a device is a mistyped one.
func noRoom(path string) error {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil // Making the file reports why it can't be made.
	}
	defer folder.Close()
	if err := notStorage(folder); err != nil {
		return err
	}
	var in, dev, root unix.Stat_t
	if errors.Join(unix.Fstat(int(folder.Fd()), &in), unix.Stat("/dev", &dev), unix.Stat("/", &root)) != nil {
		return nil // If it can't be examined, opening it decides.
	}
	if in.Dev == dev.Dev && dev.Dev != root.Dev {
		return &NoStorageError{fmt.Sprintf("there is no device %s, and a file made there would lie in memory", path)}
	}
	return nil
}
