// Package quota limits how much a folder and all below it may hold, by project quotas of xfs and ext4.
//
// A project is a number that each file has. A folder that hands its project down gives it to what is made in it, so the
// files of a folder are counted together, and the kernel refuses what exceeds the project's limit (ENOSPC for xfs, EDQUOT for ext4). It needs a mount with prjquota.
// ext4 doesn't hold a process with CAP_SYS_RESOURCE, which containers lack unless they are privileged.
//
// Easily got wrong: a project's number is not reserved by anyone. Docker's overlay2 counts up from the number of its own folder, and people write
// theirs into /etc/projid. Free finds one that no limit and no file has.
//
// The formats are those of quotactl(2), quotactl_fd(2) (Linux 5.14) and ioctl_xfs_fsgetxattr(2), which ext4 has as well.
package quota

import "errors"

// A Project is a number in a file system; 0 is none.
type Project uint32

// ErrNone says that a folder's file system has no project quotas, or that they are off.
var ErrNone = errors.New("project quotas are off")

// Usage is what a project has and may have, in bytes; a limit of 0 is none.
type Usage struct {
	Used, Limit int64
}

// FirstProject begins the numbers that Free hands out, far from those that people and Docker use.
const FirstProject Project = 0x504c0000

// most is how many numbers Free tries.
const most = 1 << 16
