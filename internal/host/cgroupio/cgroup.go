// Package cgroupio reads what the kernel charged to a process's control group:
// bytes on a block device, and stops by the CPU controller.
//
// The formats are in the kernel's Documentation/admin-guide/cgroup-v2.rst and
// cgroup-v1/blkio-controller.rst.
//
// Easily got wrong: a group's counters belong to all of its processes. They
// describe a worker only if it has the group to itself.
package cgroupio

import (
	"errors"
	"fmt"
	"strconv"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
)

// ErrShared is the error where a process shares its group with others, so that the
// group's counters are not the process's.
var ErrShared = errors.New("the group is shared")

// ErrNotCounted is the error where the kernel doesn't count for this group.
var ErrNotCounted = errors.New("not counted")

// groupOf returns the group of pid ("self" or a number) for a controller. Without the controller nothing
// is counted.
func groupOf(fs device.FS, pid string, c hierarchy.Controller) (*hierarchy.Group, error) {
	tree, err := hierarchy.Read(fs)
	if err != nil {
		return nil, err
	}
	g, err := tree.Of(pid, c)
	if errors.Is(err, hierarchy.ErrNone) {
		err = fmt.Errorf("%w: %w", err, ErrNotCounted)
	}
	return g, err
}

// ownGroup is groupOf, but returns an error wrapping ErrShared if the group is
// Plimsoll's own or the root.
func ownGroup(fs device.FS, pid int, c hierarchy.Controller) (*hierarchy.Group, error) {
	g, err := groupOf(fs, strconv.Itoa(pid), c)
	if err != nil {
		return nil, err
	}
	if g.IsRoot() {
		return g, fmt.Errorf("group of process %d: %w: it is the root group, which counts all processes", pid, ErrShared)
	}
	self, err := groupOf(fs, "self", c)
	if err == nil && self.Dir == g.Dir {
		return g, fmt.Errorf("group of process %d: %w: %s is also Plimsoll's own", pid, ErrShared, g.Path)
	}
	return g, nil
}
