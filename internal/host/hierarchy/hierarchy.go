// Package hierarchy finds control groups: where a controller is mounted, in which
// of the two versions, and which of its groups a process is in.
//
// The version is decided per controller, by where it is mounted. A hybrid host has blkio in version 1 while each process is in a
// version 2 group as well, and the groups may have other names in each hierarchy. Formats are those of cgroups(7),
// proc_pid_mountinfo(5) and the kernel's Documentation/admin-guide/cgroup-v2.rst.
//
// A mistake is easily made: a path in /proc/<pid>/cgroup is not the folder's path. The mount may show only a part of the tree (a
// container without a cgroup namespace), and a process outside this one's cgroup namespace has a path with /../ in it, which names
// no folder here.
package hierarchy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/text/refusal"
)

// A Controller has a name in each version. Only those for I/O differ.
type Controller struct{ V1, V2 string }

// The controllers that limits and counters need.
var (
	IO     = Controller{"blkio", "io"}
	CPU    = Controller{"cpu", "cpu"}
	Memory = Controller{"memory", "memory"}
	CPUSet = Controller{"cpuset", "cpuset"}
	// Unified is no controller. It stands for the files that every group of version 2 has, such as pressure (cgroup.controllers
	// doesn't list it). A host with all of its controllers in version 1 may have it.
	Unified = Controller{}
)

// ErrNone is the error if no hierarchy that is mounted here has the controller.
var ErrNone = refusal.New("no such controller here")

// ErrOutside is the error for a group outside this process's cgroup namespace.
var ErrOutside = errors.New("outside this cgroup namespace")

// A Group is a control group of one controller.
type Group struct {
	Controller Controller
	// Version is 1 or 2.
	Version int
	// Dir is its folder. Root is the folder of the topmost visible group.
	Dir, Root string
	// Path is its name, as in /proc/<pid>/cgroup.
	Path string
}

// IsRoot reports whether g is the root of its hierarchy, or of the part that this cgroup namespace shows.
func (g *Group) IsRoot() bool { return g.Path == "/" }

// Top reports whether no group above g is visible.
func (g *Group) Top() bool { return g.Dir == g.Root || len(g.Dir) <= len(g.Root) }

// Name is the controller's name in the version of g.
func (g *Group) Name() string { return g.Controller.in(g.Version) }

// Parent is the group above g, nil for the topmost visible one.
func (g *Group) Parent() *Group {
	if g.Top() {
		return nil
	}
	p := *g
	p.Dir, p.Path = filepath.Dir(g.Dir), path.Dir(g.Path)
	return &p
}

func (c Controller) in(version int) string {
	if version == 2 {
		return c.V2
	}
	return c.V1
}

// A Tree holds the mounted hierarchies, read once. The zero value has none. It is safe for concurrent use.
type Tree struct {
	fs     device.FS
	mounts []device.Mount
}

// Read reads which hierarchies are mounted.
func Read(f device.FS) (*Tree, error) {
	all, err := f.Mounts()
	if err != nil {
		return nil, err
	}
	t := &Tree{fs: f}
	for _, m := range all {
		if m.FSType == "cgroup" || m.FSType == "cgroup2" {
			t.mounts = append(t.mounts, m)
		}
	}
	return t, nil
}

// Of returns the group of pid ("self" or a number) for a controller. If the error wraps ErrOutside, the group has its path and no
// folder.
func (t *Tree) Of(pid string, c Controller) (*Group, error) {
	b, err := os.ReadFile(filepath.Join(t.fs.Proc, pid, "cgroup"))
	if err != nil {
		return nil, fmt.Errorf("group of process %s: %w", pid, err)
	}
	p, version := pathOf(string(b), c.V1)
	if version == 0 {
		return nil, fmt.Errorf("group of process %s: no %s controller: %w", pid, c.V1, ErrNone)
	}
	if strings.Contains(p+"/", "/../") {
		return &Group{Controller: c, Version: version, Path: p}, fmt.Errorf("group of process %s: %s is %w: run this where the container engine runs", pid, p, ErrOutside)
	}
	if p, gone := strings.CutSuffix(p, deleted); gone && !t.named(p+deleted, version, c) {
		return nil, fmt.Errorf("group of process %s: %s was removed: %w", pid, p, fs.ErrNotExist)
	}
	g, err := t.at(p, version, c)
	if err != nil {
		return nil, fmt.Errorf("group of process %s: %w", pid, err)
	}
	return g, nil
}

// deleted is the kernel's suffix of the path of a group that was removed.
const deleted = " (deleted)"

// named reports whether there is a group of this name.
func (t *Tree) named(p string, version int, c Controller) bool {
	g, err := t.at(p, version, c)
	if err != nil {
		return false
	}
	_, err = os.Stat(g.Dir)
	return err == nil
}

// At returns a controller's group by its path, as in /proc/<pid>/cgroup ("/docker/0123") or as a folder below the mount. The error
// wraps fs.ErrNotExist if the controller's hierarchy has no such group.
func (t *Tree) At(p string, c Controller) (*Group, error) {
	p = path.Clean("/" + filepath.ToSlash(p))
	version, _ := t.where(c)
	if version == 0 {
		return nil, fmt.Errorf("group %s: no %s controller is mounted: %w", p, c.V1, ErrNone)
	}
	for _, m := range t.mounts {
		// A user who completes names with the tab key has the folder, of any controller.
		if rel, ok := strings.CutPrefix(p+"/", strings.TrimSuffix(filepath.ToSlash(m.Point), "/")+"/"); ok {
			p = path.Join(m.Root, rel)
			break
		}
	}
	g, err := t.at(p, version, c)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(g.Dir); err != nil {
		return nil, fmt.Errorf("group %s of %s: %w", p, g.Name(), err)
	}
	return g, nil
}

// Root returns the topmost visible group of a controller.
func (t *Tree) Root(c Controller) (*Group, error) {
	version, m := t.where(c)
	if version == 0 {
		return nil, fmt.Errorf("no %s or %s controller is mounted: %w", c.V1, c.V2, ErrNone)
	}
	return &Group{Controller: c, Version: version, Dir: m.Point, Root: m.Point, Path: path.Clean(m.Root)}, nil
}

// where returns the mount that shows a controller: that of version 1 if there is one, or else that of version 2 if its root lists
// the controller.
func (t *Tree) where(c Controller) (version int, m device.Mount) {
	for version := 1; version <= 2; version++ {
		for _, m := range t.mounts {
			if shows(m, version, c) && (version == 1 || lists(m, c)) {
				return version, m
			}
		}
	}
	return 0, device.Mount{}
}

// at finds the folder of a path.
func (t *Tree) at(p string, version int, c Controller) (*Group, error) {
	for _, m := range t.mounts {
		if !shows(m, version, c) {
			continue
		}
		rel, ok := strings.CutPrefix(p, strings.TrimSuffix(m.Root, "/"))
		if !ok || (rel != "" && rel[0] != '/') {
			continue
		}
		if version == 2 && !lists(m, c) {
			return nil, fmt.Errorf("%s is in no hierarchy: %w", c.V2, ErrNone)
		}
		return &Group{Controller: c, Version: version, Dir: filepath.Join(m.Point, filepath.FromSlash(rel)), Root: m.Point, Path: p}, nil
	}
	return nil, fmt.Errorf("the %s hierarchy of %s is not mounted here: %w", c.in(version), p, ErrNone)
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
		case v1 != "" && slices.Contains(strings.Split(parts[1], ","), v1):
			return parts[2], 1
		}
	}
	return path, version
}

// shows reports whether m shows the hierarchy of this version that has the controller.
func shows(m device.Mount, version int, c Controller) bool {
	if c == Unified && version == 1 {
		return false
	}
	if version == 2 {
		return m.FSType == "cgroup2"
	}
	return m.FSType == "cgroup" && slices.Contains(strings.Split(m.Options, ","), c.V1)
}

// lists reports whether the hierarchy of version 2 has the controller.
func lists(m device.Mount, c Controller) bool {
	return c == Unified || has(m.Point, "cgroup.controllers", c.V2)
}

// has reports whether the file lists word.
func has(dir, file, word string) bool {
	b, err := os.ReadFile(filepath.Join(dir, file))
	return err == nil && slices.Contains(strings.Fields(string(b)), word)
}

// ForChildren reports whether g passes the controller on to the groups below it, which version 1 always does.
func (g *Group) ForChildren() bool {
	return g.Version == 1 || has(g.Dir, "cgroup.subtree_control", g.Controller.V2)
}
