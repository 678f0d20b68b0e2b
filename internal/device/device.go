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
// arrive there. What lies beneath it is in Device.Stack.
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
)

// An FS says where the kernel's file systems are mounted, so that a test can
// show it others.
type FS struct {
	// Proc and Sys are the roots of procfs and sysfs.
	Proc, Sys string
}

// Host is where a Linux host has them.
func Host() FS { return FS{Proc: "/proc", Sys: "/sys"} }

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
	LogicalBS  int    `json:"logical_bs"`
	// Stack names the devices from the one under the file system to the bottom.
	Stack []string `json:"stack,omitempty"`
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
}

// maxDepth bounds overlays on loops on overlays. The kernel stacks two overlays
// at most; loop devices can be nested further, but nobody means to.
const maxDepth = 16

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
	if major, minor, ok := blockNode(resolved); ok {
		s := &Stack{Mount: Mount{FSType: "block", Source: resolved, Point: resolved, Major: major, Minor: minor}}
		return s, f.setDevice(s, major, minor, mounts, 0)
	}
	return f.of(mounts, resolved, 0)
}

// of is Of for a path without symbolic links.
func (f FS) of(mounts []Mount, path string, depth int) (*Stack, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("device under %s: more than %d file systems on top of each other", path, maxDepth)
	}
	m := find(mounts, path)
	if m == nil {
		return nil, fmt.Errorf("device under %s: no mount holds it", path)
	}
	s := &Stack{Mount: *m}
	return s, f.descend(s, mounts, depth)
}

// descend fills s from its mount.
func (f FS) descend(s *Stack, mounts []Mount, depth int) error {
	m := s.Mount
	switch {
	case m.FSType == "overlay":
		return f.overlay(s, mounts, depth)
	case m.Major != 0:
		return f.setDevice(s, m.Major, m.Minor, mounts, depth)
	case m.FSType == "btrfs":
		return f.btrfs(s, mounts, depth)
	}
	s.Why = noDevice(m)
	return nil
}

// overlay goes on at the upper folder, where writes go. Reads of files that were
// never written may come from another disk; a trial writes its own files.
func (f FS) overlay(s *Stack, mounts []Mount, depth int) error {
	switch {
	case s.Mount.Upper == "":
		s.Why = "overlay without an upper folder is read-only"
		return nil
	case !filepath.IsAbs(s.Mount.Upper):
		// Docker mounts long chains from inside its folder, by relative names.
		s.Why = fmt.Sprintf("overlay's upper folder %q is a relative name: only the program that mounted it knows where it is", s.Mount.Upper)
		return nil
	}
	below, err := f.of(mounts, s.Mount.Upper, depth+1)
	if err != nil {
		return fmt.Errorf("overlay at %s: %w", s.Mount.Point, err)
	}
	s.Device, s.Devices, s.Why = below.Device, below.Devices, below.Why
	if s.Why != "" {
		s.Why = "overlay on " + s.Why
	}
	return nil
}

// setDevice makes major:minor the device of s.
func (f FS) setDevice(s *Stack, major, minor uint32, mounts []Mount, depth int) error {
	d, err := f.disk(major, minor, mounts, depth)
	if errors.Is(err, fs.ErrNotExist) {
		s.Why = fmt.Sprintf("%s %s is on device %d:%d, which sysfs doesn't show", s.Mount.FSType, s.Mount.Source, major, minor)
		return nil
	}
	if err != nil {
		return err
	}
	s.Device, s.Devices = d, []Device{*d}
	return nil
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
