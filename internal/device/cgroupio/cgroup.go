// Package cgroupio reads what the kernel charged to a process's control group:
// bytes on a block device, and stops by the CPU controller.
//
// The version is decided per controller, by where it is mounted: a hybrid host
// has blkio in version 1 while the process is in a version 2 group as well. The
// formats are in the kernel's Documentation/admin-guide/cgroup-v2.rst and
// cgroup-v1/blkio-controller.rst.
//
// The one thing easily got wrong: a group's counters belong to all of its
// processes. They say something of a worker only if it has the group to itself.
package cgroupio

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/device"
)

// ErrShared is the error where a process shares its group with others, so that the
// group's counters are not the process's.
var ErrShared = errors.New("the group is shared")

// ErrNotCounted is the error where the kernel doesn't count for this group.
var ErrNotCounted = errors.New("not counted")

// A group is a control group of one controller.
type group struct {
	// version is 1 or 2.
	version int
	// dir is its folder, root that of the hierarchy's root, path its name as
	// /proc/<pid>/cgroup has it.
	dir, root, path string
}

// isRoot reports whether g is the root of its hierarchy.
func (g *group) isRoot() bool { return g.path == "/" }

// groupOf returns the group of pid ("self" or a number) for a controller, by
// the name that version 1 and that version 2 has for it.
func groupOf(fs device.FS, pid, v1, v2 string) (*group, error) {
	b, err := os.ReadFile(filepath.Join(fs.Proc, pid, "cgroup"))
	if err != nil {
		return nil, fmt.Errorf("group of process %s: %w", pid, err)
	}
	path, version := pathOf(string(b), v1)
	if version == 0 {
		return nil, fmt.Errorf("group of process %s: no %s controller: %w", pid, v1, ErrNotCounted)
	}
	if strings.Contains(path+"/", "/../") {
		return nil, fmt.Errorf("group of process %s: %s is outside this cgroup namespace", pid, path)
	}
	mounts, err := fs.Mounts()
	if err != nil {
		return nil, err
	}
	for _, m := range mounts {
		if !mounted(m, version, v1) {
			continue
		}
		// In a container without a cgroup namespace the mount shows a part of the
		// tree: root names it.
		rel, ok := strings.CutPrefix(path, strings.TrimSuffix(m.Root, "/"))
		if !ok || (rel != "" && rel[0] != '/') {
			continue
		}
		g := &group{version: version, dir: filepath.Join(m.Point, rel), root: m.Point, path: path}
		if version == 2 && !has(filepath.Join(m.Point, "cgroup.controllers"), v2) {
			return nil, fmt.Errorf("group of process %s: %s is in no hierarchy: %w", pid, v2, ErrNotCounted)
		}
		return g, nil
	}
	return nil, fmt.Errorf("group of process %s: the %s hierarchy of %s is not mounted here: %w", pid, v1, path, ErrNotCounted)
}

// pathOf finds a controller's line in /proc/<pid>/cgroup: "7:blkio:/a" of
// version 1, or else "0::/a", the only line of version 2.
func pathOf(text, v1 string) (path string, version int) {
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3)
		if len(parts) != 3 || !strings.HasPrefix(parts[2], "/") {
			continue
		}
		switch {
		case parts[0] == "0" && parts[1] == "" && version == 0:
			path, version = parts[2], 2
		case slices.Contains(strings.Split(parts[1], ","), v1):
			return parts[2], 1
		}
	}
	return path, version
}

// mounted reports whether m shows the hierarchy that has the controller.
func mounted(m device.Mount, version int, v1 string) bool {
	if version == 2 {
		return m.FSType == "cgroup2"
	}
	return m.FSType == "cgroup" && slices.Contains(strings.Split(m.Options, ","), v1)
}

// has reports whether the file lists word.
func has(name, word string) bool {
	b, err := os.ReadFile(name)
	return err == nil && slices.Contains(strings.Fields(string(b)), word)
}

// ownGroup is groupOf, and an error wrapping ErrShared unless the group is
// another than Plimsoll's and than the root.
func ownGroup(fs device.FS, pid int, v1, v2 string) (*group, error) {
	g, err := groupOf(fs, strconv.Itoa(pid), v1, v2)
	if err != nil {
		return nil, err
	}
	if g.isRoot() {
		return g, fmt.Errorf("group of process %d: %w: it is the root group, which counts everybody", pid, ErrShared)
	}
	self, err := groupOf(fs, "self", v1, v2)
	if err == nil && self.dir == g.dir {
		return g, fmt.Errorf("group of process %d: %w: %s is also Plimsoll's own", pid, ErrShared, g.path)
	}
	return g, nil
}
