// Package cgroup reads and writes limits in control groups, of version 1 and 2.
//
// A Host is the groups of a machine, and a Target those of one container, by controller: on a hybrid host version 1
// may limit I/O and version 2 memory. Plan compares the present limits with the wanted ones and returns a Diff; Apply
// writes it, all or nothing; Hold repeats both until nothing is left to write. A Transaction does so for several
// targets, and can be undone until it is finished. Unchanged values are not written again, because the first limit on
// a disk stops all its queues for a moment.
//
// Easily got wrong:
//
//   - Version 1 throttles each group by itself: a limit on /docker or on a container's group says
//     nothing about the groups below it. So every group of a container is written, and those that it
//     makes later are found by planning again.
//   - The versions disagree about values: 0 removes a limit in version 1, where "max" is an error, and
//     is an error in version 2, where "max" removes it and 1 is an error, too.
//   - A limit is the whole disk's: the kernel refuses one on a partition (see Node.Limited of package device).
//   - A default weight that is written to bfq resets the weights of single devices.
//   - A weight is accepted and does nothing unless the disk is scheduled by bfq or has iocost (see WeightEffect).
//
// The formats are in the kernel's Documentation/admin-guide/cgroup-v2.rst and
// Documentation/admin-guide/cgroup-v1/{blkio-controller,memory}.rst, and in block/blk-throttle.c,
// bfq-cgroup.c, blk-iocost.c and blk-iolatency.c, which go further than the documents.
package cgroup

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/text/refusal"
)

// ErrGone is the error where a target's group was removed: its processes have ended.
var ErrGone = errors.New("the group is gone: its processes have ended")

// ErrNoController is the error where a group of version 2 has no files of a controller, because a group above doesn't
// enable it in cgroup.subtree_control.
var ErrNoController = refusal.New("the controller is not given to this group")

// ErrUnsupported is the error where this kernel or version doesn't have the limit.
var ErrUnsupported = refusal.New("not supported here")

// A Host is the control groups of a machine. It may be used from several goroutines.
type Host struct {
	fs   device.FS
	tree *hierarchy.Tree
	io   files
}

// Open reads where control groups are mounted. On systems without them the error is
// errors.ErrUnsupported.
func Open(fs device.FS) (*Host, error) {
	tree, err := hierarchy.Read(fs)
	if err != nil {
		return nil, err
	}
	return &Host{fs: fs, tree: tree, io: kernel{}}, nil
}

// files is the access to control files.
type files interface {
	// read returns the content, in buf if it fits.
	read(path string, buf []byte) ([]byte, error)
	// write writes the text in one call, since the kernel takes one value per call.
	write(path, text string) error
	// groups lists the names of the groups in dir.
	groups(dir string) ([]string, error)
}

// plain reports whether s is a number as the kernel prints it: ParseUint also takes "+1" and "007".
func plain(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == "" && (s == "0" || s[0] != '0')
}

// sysfs returns the folder of a block device, "" if the device doesn't exist. A partition's folder is in its disk's.
func (h *Host) sysfs(d device.Number) string {
	dir, err := filepath.EvalSymlinks(filepath.Join(h.fs.Sys, "dev", "block", d.String()))
	if err != nil {
		return ""
	}
	return dir
}

// text reads a small file, "" if it can't be read.
func (h *Host) text(elem ...string) string {
	b, err := h.io.read(filepath.Join(elem...), nil)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// fields is text, split at spaces.
func (h *Host) fields(elem ...string) []string { return strings.Fields(h.text(elem...)) }

// checkDevice returns why a device can't have a limit, and which one to name instead.
func (h *Host) checkDevice(d device.Number) error {
	if h.fs.Sys == "" {
		return nil
	}
	dir := h.sysfs(d)
	if dir == "" {
		return &Fault{Device: d, Why: "there is no block device " + d.String() + " here (any more)", Fix: "name the one that the data is on now"}
	}
	disk, why := device.LimitedFolder(dir)
	if why == "" {
		return nil
	}
	return &Fault{Device: d, Why: why, Fix: fmt.Sprintf("give %s (%s), which all its partitions share", h.text(disk, "dev"), filepath.Base(disk))}
}
