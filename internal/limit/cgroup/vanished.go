package cgroup

import (
	"errors"
	"io/fs"
	"syscall"
	"time"

	"plimsoll/internal/host/hierarchy"
)

// A vanished is the error of a control file that was found, and whose group was removed before it was read or written: the kernel
// says ENODEV then (kernfs_get_active in fs/kernfs), as it does of a disk that it doesn't know. The group's folder may be seen for a moment
// longer. It is ErrGone and, as the file isn't there any more, fs.ErrNotExist.
type vanished struct{ op, path string }

func (v vanished) Error() string { return v.op + " " + v.path + ": " + ErrGone.Error() }

// Is makes it what it is called above.
func (v vanished) Is(err error) bool { return err == ErrGone || err == fs.ErrNotExist }

// Unwrap is what the kernel said.
func (v vanished) Unwrap() error { return syscall.ENODEV }

// removal is how long the folder of a group that is being removed may be seen when its files are not there any more
// (cgroup_destroy_locked in kernel/cgroup/cgroup.c); a busy machine may take longer.
const removal = 10 * time.Millisecond

// gone reports whether a group of which a file is not there, by err, was removed.
func (h *Host) gone(g *hierarchy.Group, err error) bool {
	if errors.Is(err, ErrGone) {
		return true
	}
	for end := time.Now().Add(removal); h.exists(g.Dir); time.Sleep(time.Millisecond) {
		if !time.Now().Before(end) {
			return false
		}
	}
	return true
}

// belowGone reports whether an error means that a group below the target's own has gone. It had the file when it was planned, so
// that one that is not there any more says it, also where another group has the name by now.
func (h *Host) belowGone(d *Diff, e *Edit, err error) bool {
	if e.group == nil || d.ofTop(e) {
		return false
	}
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) && !h.exists(e.group.Dir)
}
