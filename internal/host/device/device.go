// Package device finds the block device under a path.
//
// A path is in a mount, and a mount stands on something: a disk or a partition
// of one, a stack of devices (LVM, encryption, RAID), a file that a loop device
// presents as a disk, another file system (overlay), memory, or a machine across
// the network. The walk goes from the mount down until it meets either the block
// devices or the reason why there are none, and says that reason in words.
//
// Two things are easily got wrong. st_dev does not name the device: overlay and
// btrfs hand out numbers of their own, so the walk starts from mountinfo. And the
// device that counts is the one right under the file system: hard limits go
// there (on the whole disk, for a partition), and the bytes that a file system sends
// arrive there. What lies beneath it is in Stack.Tree, and by name in Device.Stack.
//
// The formats are described in proc_pid_mountinfo(5) and in the kernel's
// Documentation/ABI/stable/sysfs-block.
package device

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An FS says where the kernel's file systems are mounted, so that a test can
// show it others.
type FS struct {
	// Proc and Sys are the roots of procfs and sysfs.
	Proc, Sys string
	// Targets returns the devices that a device of the device mapper is made of, which sysfs doesn't
	// show. nil: it isn't known. An error means the same.
	Targets func(Number) ([]Target, error)
	// Backing returns the number of the file system and of the inode of a loop device's file, which has a name in sysfs only: that may
	// mean another file by now, or here. nil: it isn't known. An error means the same.
	Backing func(name string) (dev, inode uint64, err error)
}

// Host is where a Linux host has them.
func Host() FS { return FS{Proc: "/proc", Sys: "/sys", Targets: targets, Backing: backing} }

// A Device is a block device under a place.
type Device struct {
	Name  string `json:"name"`
	Major uint32 `json:"major"`
	Minor uint32 `json:"minor"`
	Model string `json:"model,omitempty"`
	// Size is in bytes.
	Size       int64  `json:"size"`
	Rotational bool   `json:"rotational"`
	Scheduler  string `json:"scheduler"`
	NrRequests int    `json:"nr_requests"`
	// WriteCache is "write back" or "write through".
	WriteCache string `json:"write_cache"`
	// FUA is set for a device that can make a single write durable without a flush of its cache.
	FUA       bool `json:"fua,omitempty"`
	LogicalBS int  `json:"logical_bs"`
	// MaxIO is how many bytes one I/O has at most (max_sectors_kb): larger ones are
	// cut, and each part counts as an I/O. 0: unknown.
	MaxIO int64 `json:"max_io,omitempty"`
	// MQ is set for a device with request queues of its own (blk-mq), which a
	// scheduler and weights need. Others (LVM, md) hand every bio on.
	MQ bool `json:"mq,omitempty"`
	// Stack names the devices from the one under the file system to the bottom.
	Stack []string `json:"stack,omitempty"`
	// Identity says which device it is, whatever its name: by its number in the world, its serial number or what else outlives a
	// boot, or for one boot alone. "": not known.
	Identity string `json:"identity,omitempty"`
}

// A Stack is what a path stands on.
type Stack struct {
	// Mount is the mount that the path is in.
	Mount Mount
	// Device is the block device under the file system: the whole disk, where
	// that is a partition. nil: there is none, or more than one; Why then says why.
	Device *Device
	// Devices holds every block device that the file system spreads its data
	// over. It has more than one for btrfs on several disks.
	Devices []Device
	// Why says in words why Device is nil.
	Why string
	// Tree is all that was found: its root is the mount, or the block device that the path
	// names. Device and Devices are parts of it.
	Tree *Node
}

// Of finds what path stands on. The path need not exist yet: its nearest existing
// folder decides. A block device stands on itself. The error says that it couldn't
// be found out; that there is no device is no error but Stack.Why. On systems
// without procfs the error is errors.ErrUnsupported.
func (f FS) Of(path string) (*Stack, error) {
	mounts, err := f.mounts()
	if err != nil {
		return nil, err
	}
	resolved, err := resolve(path)
	if err != nil {
		return nil, err
	}
	t := tracer{fs: f, mounts: mounts}
	if number, ok := BlockNode(resolved); ok {
		n, err := t.whole(Mount{FSType: RawBlock, Source: resolved, Point: resolved, Major: number.Major, Minor: number.Minor}, 0)
		return stackOf(n), err
	}
	n, err := t.path(resolved, 0)
	return stackOf(n), err
}

// stackOf sums up a tree.
func stackOf(n *Node) *Stack {
	if n == nil {
		return nil
	}
	s := &Stack{Mount: *n.Mount, Tree: n}
	tops, why := n.Tops()
	for _, top := range tops {
		d := *top.Disk().Device
		d.Stack = top.names()
		// Two partitions of one disk are one disk.
		if !slices.ContainsFunc(s.Devices, func(o Device) bool { return o.Name == d.Name }) {
			s.Devices = append(s.Devices, d)
		}
	}
	switch {
	case len(s.Devices) == 1:
		s.Device = &s.Devices[0]
	case len(s.Devices) > 1:
		names := make([]string, len(s.Devices))
		for i, d := range s.Devices {
			names[i] = d.Name
		}
		s.Why = fmt.Sprintf("%s spreads its data over %s: which of them a byte goes to isn't known", n.Data().Mount.FSType, strings.Join(names, ", "))
	default:
		s.Why = why
	}
	return s
}

// resolve makes path absolute and free of symbolic links, as far as it exists.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("device under %s: %w", path, err)
	}
	rest := ""
	for p := abs; ; p = filepath.Dir(p) {
		real, err := filepath.EvalSymlinks(p)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		// Lstat tells a missing name, whose parent decides, from a dangling link.
		if _, lerr := os.Lstat(p); lerr == nil || !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("device under %s: %w", path, err)
		}
		if p == filepath.Dir(p) {
			return abs, nil
		}
		rest = filepath.Join(filepath.Base(p), rest)
	}
}
