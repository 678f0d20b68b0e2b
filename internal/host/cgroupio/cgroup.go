// Package cgroupio reads the counters of a process's control group: its bytes on a block device, and how often the CPU controller
// stopped it.
//
// The formats are in the kernel's Documentation/admin-guide/cgroup-v2.rst and
// cgroup-v1/blkio-controller.rst.
//
// A mistake is easily made: a group's counters belong to all of its processes. They describe a worker only if it is alone in its
// group.
package cgroupio

import (
	"errors"
	"fmt"
	"strconv"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
)

// ErrShared is the error if a process shares its group with others, so that the group's counters are not the process's.
var ErrShared = errors.New("the group is shared")

// ErrNotCounted is the error if the kernel doesn't count for this group.
var ErrNotCounted = errors.New("not counted")

// groupOf returns the group of pid ("self" or a number) for a controller. Without the controller the error wraps ErrNotCounted.
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
