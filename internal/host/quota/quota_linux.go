package quota

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Of the kernel's headers <linux/quota.h> and <linux/fs.h>.
const (
	projectQuota  = 2
	getQuota      = 0x800007<<8 | projectQuota
	setQuota      = 0x800008<<8 | projectQuota
	blockLimits   = 1 // QIF_BLIMITS
	quotaBlock    = 1024
	getAttributes = 0x801c581f // FS_IOC_FSGETXATTR
	setAttributes = 0x401c5820 // FS_IOC_FSSETXATTR
	handsDown     = 0x200      // FS_XFLAG_PROJINHERIT
)

// dqblk is struct if_dqblk. Space is in bytes, limits are in quotaBlocks.
type dqblk struct {
	hard, soft, space              uint64
	inodesHard, inodesSoft, inodes uint64
	blockTime, inodeTime           uint64
	valid                          uint32
	_                              uint32
}

// attributes is struct fsxattr.
type attributes struct {
	flags, extentSize, extents, project, cowExtentSize uint32
	_                                                  [8]byte
}

// Of returns a folder's project.
func Of(dir *os.File) (Project, error) {
	a, err := attributesOf(dir)
	return Project(a.project), err
}

// Assign gives an empty folder a project, and hands it down to what is made there.
func Assign(dir *os.File, p Project) error {
	a, err := attributesOf(dir)
	if err != nil {
		return err
	}
	a.project = uint32(p)
	a.flags |= handsDown
	if p == 0 {
		a.flags &^= handsDown
	}
	return call(dir, setAttributes, &a)
}

func attributesOf(dir *os.File) (a attributes, err error) { return a, call(dir, getAttributes, &a) }

func call(f *os.File, request uintptr, a *attributes) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), request, uintptr(unsafe.Pointer(a))); errno != 0 {
		return named(f, errno)
	}
	return nil
}

// Get returns what a project has and may have in the file system of dir.
func Get(dir *os.File, p Project) (Usage, error) {
	q, err := get(dir, p)
	return Usage{Used: int64(q.space), Limit: int64(q.hard) * quotaBlock}, err
}

func get(dir *os.File, p Project) (q dqblk, err error) {
	err = control(dir, getQuota, p, &q)
	if errors.Is(err, unix.ENOENT) {
		err = nil // xfs has no record of a project without files and limits.
	}
	return q, err
}

// Limit sets how much a project may have in the file system of dir, 0 for no limit. It is rounded up to 1 KiB.
func Limit(dir *os.File, p Project, bytes int64) error {
	q := dqblk{hard: uint64(bytes+quotaBlock-1) / quotaBlock, valid: blockLimits}
	return control(dir, setQuota, p, &q)
}

// Free returns a project that has no files and no limit in the file system of dir, and isn't taken.
func Free(dir *os.File, taken func(Project) bool) (Project, error) {
	for p := FirstProject; p < FirstProject+most; p++ {
		if taken(p) {
			continue
		}
		q, err := get(dir, p)
		if err != nil {
			return 0, err
		}
		if q.space == 0 && q.inodes == 0 && q.hard == 0 && q.soft == 0 {
			return p, nil
		}
	}
	return 0, fmt.Errorf("%s: all of %d projects are taken", dir.Name(), most)
}

func control(dir *os.File, command uintptr, p Project, q *dqblk) error {
	_, _, errno := unix.Syscall6(unix.SYS_QUOTACTL_FD, dir.Fd(), command, uintptr(p), uintptr(unsafe.Pointer(q)), 0, 0)
	if errno != 0 {
		return named(dir, errno)
	}
	return nil
}

// named is the error of a call. The file system's answers that it has no such quotas are ErrNone.
func named(f *os.File, errno unix.Errno) error {
	switch errno {
	case unix.ESRCH, unix.ENOSYS, unix.ENOTTY, unix.EOPNOTSUPP, unix.EINVAL:
		return &os.PathError{Op: "project quota of", Path: f.Name(), Err: errors.Join(ErrNone, errno)}
	}
	return &os.PathError{Op: "project quota of", Path: f.Name(), Err: errno}
}
