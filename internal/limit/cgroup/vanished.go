package cgroup

import (
	"errors"
	"io/fs"
	"syscall"
	"time"

	"plimsoll/internal/host/hierarchy"
)

// A vanished is the error of a control file whose group was removed between opening and reading or writing: the
// kernel returns ENODEV (kernfs_get_active in fs/kernfs), as for an unknown disk. The group's folder may be visible
// for a moment longer. The error is ErrGone and, as the file no longer exists, fs.ErrNotExist.
type vanished struct{ op, path string }

func (v vanished) Error() string { return v.op + " " + v.path + ": " + ErrGone.Error() }

// Is reports that it is ErrGone and fs.ErrNotExist.
func (v vanished) Is(err error) bool { return err == ErrGone || err == fs.ErrNotExist }

// Unwrap returns the kernel's error.
func (v vanished) Unwrap() error { return syscall.ENODEV }

// removal is how long a removed group's folder may be visible after its files are gone (cgroup_destroy_locked in
// kernel/cgroup/cgroup.c); a busy machine may take longer.
const removal = 10 * time.Millisecond

// gone reports whether a group was removed, given the error of a missing file.
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

// belowGone reports whether an error means that a group below the target's own is gone. It had the file when the diff
// was planned, so a missing file means that, even if a new group has the name.
func (h *Host) belowGone(d *Diff, e *Edit, err error) bool {
	if e.group == nil || d.ofTop(e) {
		return false
	}
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) && !h.exists(e.group.Dir)
}
