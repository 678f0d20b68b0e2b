// Package device finds the block device under a path.
//
// A path is in a mount. Below a mount is a disk or a partition, a stack of devices (LVM,
// encryption, RAID), a file that a loop device presents as a disk, another file system
// (overlay), memory, or a machine across the network. The walk goes from the mount down to
// the block devices, or to the reason why there are none, which it returns in words.
//
// Two mistakes are easily made. st_dev does not name the device: overlay and btrfs return numbers of their own, so the walk starts
// from mountinfo. And the device that counts is the one right under the file system: hard limits apply there (for a partition, on
// the whole disk), and the bytes that a file system sends arrive there. Stack.Tree has the devices beneath it, and Device.Stack
// their names.
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

// An FS says where the kernel's file systems are mounted. Tests use others.
type FS struct {
	// Proc and Sys are the roots of procfs and sysfs.
	Proc, Sys string
	// Targets returns the device-mapper targets of a device, which sysfs doesn't show. nil or an error: they aren't known.
	Targets func(Number) ([]Target, error)
	// Backing returns the device number of the file system and the inode of a loop device's file. Sysfs has only the file's name,
	// which may lead to another file by now or in this mount namespace. nil or an error: they aren't known.
	Backing func(name string) (dev, inode uint64, err error)
}

// Host is where a Linux host mounts them.
func Host() FS { return FS{Proc: "/proc", Sys: "/sys", Targets: targets, Backing: backing} }

// NodePath returns the path of the node of a device with a name of the kernel's. sysfs writes "!" for the "/" in names such
// as cciss/c0d0.
func NodePath(name string) string { return "/dev/" + strings.ReplaceAll(name, "!", "/") }

// A Device is a block device under a place.
type Device struct {
	Name   string `json:"name"`
	Number Number `json:"number"`
	Model  string `json:"model,omitempty"`
	// Size is in bytes.
	Size       int64  `json:"size"`
	Rotational bool   `json:"rotational"`
	Scheduler  string `json:"scheduler"`
	NrRequests int    `json:"nr_requests"`
	// WriteCache is "write back" or "write through".
	WriteCache string `json:"write_cache"`
	// FUA is set if the device can make a single write durable without a flush of its cache.
	FUA       bool `json:"fua,omitempty"`
	LogicalBS int  `json:"logical_bs"`
	// MaxIO is the most bytes in one I/O (max_sectors_kb). The kernel splits larger ones, and each part counts as an I/O. 0:
	// unknown.
	MaxIO int64 `json:"max_io,omitempty"`
	// MQ is set if the device has request queues of its own (blk-mq), which a scheduler and weights need. Others (LVM, md) pass
	// every bio on.
	MQ bool `json:"mq,omitempty"`
	// Stack names the devices from the one under the file system to the bottom.
	Stack []string `json:"stack,omitempty"`
	// Identity says which device it is, whatever its name: a worldwide number, a serial number or another id that survives a reboot,
	// or else an id for this boot. "": not known.
	Identity string `json:"identity,omitempty"`
}

// A Stack is the mount and the devices below a path.
type Stack struct {
	// Mount is the mount that the path is in.
	Mount Mount
	// Device is the block device under the file system: the whole disk if that is a partition. It is nil if there is none or more
	// than one; Why then says why.
	Device *Device
	// Devices holds every block device that has data of the file system. It has more than one for btrfs on several disks.
	Devices []Device
	// Why is the reason why Device is nil.
	Why string
	// Tree is everything that was found. Its root is the mount, or the block device that the path names. Device and Devices are
	// parts of it.
	Tree *Node
}

// Of finds the mount and the devices below path. The path need not exist yet: its nearest existing folder decides. For a block
// device, that device is the result. A path without a device is no error: Stack.Why has the reason. An error means that it could not
// be found out; on systems without procfs it is errors.ErrUnsupported.
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
		n, err := t.whole(Mount{FSType: RawBlock, Source: resolved, Point: resolved, Number: number}, 0)
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
		// Lstat distinguishes a missing name, whose parent decides, from a dangling link.
		if _, lerr := os.Lstat(p); lerr == nil || !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("device under %s: %w", path, err)
		}
		if p == filepath.Dir(p) {
			return abs, nil
		}
		rest = filepath.Join(filepath.Base(p), rest)
	}
}
