package profile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
)

// program is one that a backend needs, and the Debian package that has it.
type program struct{ name, pkg string }

var makers = map[string]program{
	Ext4:  {"mkfs.ext4", "e2fsprogs"},
	XFS:   {"mkfs.xfs", "xfsprogs"},
	Btrfs: {"mkfs.btrfs", "btrfs-progs"},
}

// missing is nil if a program is on the path, or where Debian keeps those of root.
func (p program) missing(what string) error {
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/sbin") {
		if _, err := exec.LookPath(filepath.Join(dir, p.name)); err == nil {
			return nil
		}
	}
	return no(what, "there is no program "+p.name, "apt-get install "+p.pkg)
}

// inKernel is nil if the kernel has a file system, or has its module.
func inKernel(name string) error {
	known, err := os.ReadFile("/proc/filesystems")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(known)) {
		if f := strings.Fields(line); len(f) > 0 && f[len(f)-1] == name {
			return nil
		}
	}
	if has, err := hasModule(name); err != nil || has {
		return err
	}
	return no("file system "+name, "the kernel has no "+name, "")
}

// hasModule reports whether a module of the running kernel is installed; the kernel loads it when it is needed.
func hasModule(name string) (bool, error) {
	f, err := os.Open(filepath.Join("/lib/modules", device.Text("/proc", "sys", "kernel", "osrelease"), "modules.dep"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		path, _, _ := strings.Cut(s.Text(), ":")
		module, _, _ := strings.Cut(filepath.Base(path), ".ko")
		if strings.ReplaceAll(module, "-", "_") == name {
			return true, nil
		}
	}
	return false, s.Err()
}

func hostFilesystem(name string) error {
	if err := inKernel(name); err != nil {
		return err
	}
	return makers[name].missing("file system " + name)
}

func hostNFS() error {
	if err := inKernel("nfs"); err != nil {
		return err
	}
	return program{"mount.nfs", "nfs-common"}.missing("NFS")
}

func hostLoop() error {
	if _, err := os.Stat("/dev/loop-control"); errors.Is(err, fs.ErrNotExist) {
		if has, err := hasModule("loop"); err != nil || has {
			return err
		}
		return no("loop devices", "the kernel has no loop devices", "")
	}
	return nil
}

// hostEncryption asks the device mapper for its targets. A target whose module is not loaded is not among them, but is loaded for the first
// device that uses it.
func hostEncryption() error {
	const what = "encryption"
	targets, err := mapperTargets()
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO): // A node may stay without its driver.
		has, err := hasModule("dm_crypt")
		if err != nil {
			return err
		}
		if !has {
			return no(what, "the kernel has no device mapper, and so no dm-crypt", "")
		}
		return no(what, "the device mapper is not loaded", "modprobe dm-crypt")
	case errors.Is(err, fs.ErrPermission):
		return no(what, "only root can ask the device mapper", "run as root")
	case err != nil:
		return err
	case !slices.Contains(targets, "crypt"):
		if has, err := hasModule("dm_crypt"); err != nil {
			return err
		} else if !has {
			return no(what, "the kernel's device mapper has no dm-crypt", "")
		}
	}
	return program{"cryptsetup", "cryptsetup-bin"}.missing(what)
}

// mapperTargets lists the kinds of target that the device mapper has loaded, with the ioctl DM_LIST_VERSIONS of <linux/dm-ioctl.h>: each is a
// struct dm_target_versions, the offset of the next one, three numbers, and the name.
func mapperTargets() ([]string, error) {
	const (
		control      = "/dev/mapper/control"
		listVersions = 0xc138fd0d // _IOWR(0xfd, 13, struct dm_ioctl)
		header       = 312        // sizeof(struct dm_ioctl)
		numbers      = 16
	)
	f, err := os.OpenFile(control, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, 64<<10)
	e := binary.NativeEndian
	e.PutUint32(buf[0:], 4) // The version: major 4, and any minor.
	e.PutUint32(buf[12:], uint32(len(buf)))
	e.PutUint32(buf[16:], header) // Where the answer begins.
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), listVersions, uintptr(unsafe.Pointer(&buf[0]))); errno != 0 {
		return nil, fmt.Errorf("%s: list its targets: %w", control, errno)
	}
	end := min(int(e.Uint32(buf[12:])), len(buf))
	var names []string
	for at := int(e.Uint32(buf[16:])); at >= header && at+numbers < end; {
		name, _, _ := strings.Cut(string(buf[at+numbers:end]), "\x00")
		names = append(names, name)
		next := int(e.Uint32(buf[at:]))
		if next < numbers {
			break
		}
		at += next
	}
	return names, nil
}

// existing returns the nearest existing folder.
func existing(folder string) string {
	for {
		up := filepath.Dir(folder)
		if _, err := os.Stat(folder); err == nil || up == folder {
			return folder
		}
		folder = up
	}
}

// hostQuota asks the file system with quotactl_fd(2) which quotas it counts and enforces (Q_XGETQSTAT; <linux/dqblk_xfs.h>), which ext4
// answers, too. ENOSYS is its answer if it does neither. No privilege is needed.
func hostQuota(folder string) error {
	const (
		what         = "project quota"
		getState     = ('X'<<8 + 5) << 8
		projectQuota = 2
		flags        = 2       // Where struct fs_quota_stat has qs_flags, of 16 bits.
		enforces     = 1 << 5  // FS_QUOTA_PDQ_ENFD
		size         = 1 << 10 // More than the struct.
	)
	dir, err := os.Open(existing(folder))
	if err != nil {
		return err
	}
	defer dir.Close()
	s, err := device.Host().Of(folder)
	if err != nil {
		return err
	}
	on, kind := s.Mount.Point, s.Mount.FSType
	if kind != Ext4 && kind != XFS {
		return no(what, fmt.Sprintf("%s is %s, which has no project quotas", on, kind), "use a directory on xfs or ext4")
	}
	buf := make([]byte, size)
	_, _, errno := unix.Syscall6(unix.SYS_QUOTACTL_FD, dir.Fd(), getState|projectQuota, 0, uintptr(unsafe.Pointer(&buf[0])), 0, 0)
	switch {
	case errno == 0 && binary.NativeEndian.Uint16(buf[flags:])&enforces != 0:
		return nil
	case errno == 0 || errno == unix.ENOSYS || errno == unix.ESRCH || errno == unix.EINVAL:
		fix := "mount it with prjquota"
		if kind == Ext4 {
			fix = "tune2fs -O project -Q prjquota, and mount it with prjquota"
		}
		return no(what, fmt.Sprintf("project quotas of %s (%s) are off", on, kind), fix)
	}
	return fmt.Errorf("quotas of %s: %w", on, errno)
}

// hostReflinks makes two files without names, and lets one share the other's data (ioctl_ficlone(2)).
func hostReflinks(folder string) error {
	const what = "reflinks"
	folder = existing(folder)
	var files [2]*os.File
	for i := range files {
		f, err := os.OpenFile(folder, unix.O_TMPFILE|os.O_RDWR, 0o600)
		switch {
		case errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR):
			return no(what, "the file system of "+folder+" has no reflinks", "use a directory on xfs or btrfs")
		case err != nil:
			return err
		}
		defer f.Close()
		files[i] = f
	}
	if _, err := files[0].Write(make([]byte, 4096)); err != nil {
		return err
	}
	err := unix.IoctlFileClone(int(files[1].Fd()), int(files[0].Fd()))
	switch {
	case errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTTY):
		return no(what, "the file system of "+folder+" has no reflinks", "use a directory on xfs or btrfs")
	case err != nil:
		return fmt.Errorf("share the data of files in %s: %w", folder, err)
	}
	return nil
}

// hostLimits asks where the controller of I/O is.
func hostLimits() (version int, err error) {
	const what = "limits of volumes"
	tree, err := hierarchy.Read(device.Host())
	if err != nil {
		return 0, err
	}
	root, err := tree.Root(hierarchy.IO)
	if errors.Is(err, hierarchy.ErrNone) {
		return 0, no(what, "no control groups for I/O are mounted here", "mount them, or run Plimsoll on the host")
	}
	if err != nil {
		return 0, err
	}
	if root.Version == 1 {
		if _, err := os.Stat(filepath.Join(root.Dir, "blkio.throttle.write_iops_device")); errors.Is(err, fs.ErrNotExist) {
			return 0, no(what, "the kernel has no limits of I/O (CONFIG_BLK_DEV_THROTTLING)", "")
		}
	}
	return root.Version, nil
}
