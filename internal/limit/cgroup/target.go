package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/text/refusal"
)

// controllers are the controllers that limits need.
var controllers = []hierarchy.Controller{hierarchy.IO, hierarchy.CPU, hierarchy.Memory}

// A Target is the groups by which a container, process or unit is limited: one for each controller, where it has one.
type Target struct {
	// Name is its name in errors.
	Name   string
	groups map[hierarchy.Controller]*hierarchy.Group
	// why is the reason for each missing group.
	why map[hierarchy.Controller]error
	// single leaves out the groups below.
	single bool
}

// Group returns the target's group of a controller. The error is why it has none: it wraps hierarchy.ErrNone if the
// controller is not mounted.
func (t *Target) Group(c hierarchy.Controller) (*hierarchy.Group, error) {
	if g := t.groups[c]; g != nil {
		return g, nil
	}
	if err := t.why[c]; err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%s: no group of the %s controller: %w", t.Name, c.V1, hierarchy.ErrNone)
}

// Alone returns the target without the groups below its own.
func (t *Target) Alone() *Target {
	alone := *t
	alone.single = true
	return &alone
}

// Charged lists the groups whose counters add up to a target's I/O, its own first: in version 1 also all below it.
// The error wraps ErrGone if its own was removed.
func (h *Host) Charged(t *Target) ([]*hierarchy.Group, error) {
	g, err := t.Group(hierarchy.IO)
	if err != nil {
		return nil, err
	}
	groups, err := h.throttled(t, g)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	return groups, nil
}

// Below lists the group and all groups below it, which contain its processes. For the root group, which is above all
// groups, it lists only the root group.
func (h *Host) Below(t *Target, g *hierarchy.Group) ([]*hierarchy.Group, error) {
	if t.single {
		return []*hierarchy.Group{g}, nil
	}
	return h.leaves(g)
}

// Find returns the groups of a container whose first process is pid. container is its full id, or its name for an OCI
// runtime, and asked the group in its config.json, if known. The topmost group with such a name is the container's
// (hierarchy.Own), even if processes have moved to groups below it (systemd in a container, podman's own). If
// container is empty, the groups are those of the process itself.
//
// A controller is left out if its group for the process is the root group or not the container's; Group then returns
// the reason. It is an error if none remain.
func (h *Host) Find(pid int, container, asked string) (*Target, error) {
	t := newTarget(fmt.Sprintf("process %d", pid))
	if container != "" {
		t.Name = "container " + short(container)
	}
	for _, c := range controllers {
		g, err := h.tree.Of(strconv.Itoa(pid), c)
		if err == nil {
			g, err = owned(g, pid, container, asked)
		}
		t.put(c, g, err)
	}
	if err := t.check(); err != nil {
		return t, err
	}
	g, err := h.tree.Of(strconv.Itoa(pid), hierarchy.Unified)
	if err == nil {
		g, err = owned(g, pid, container, asked)
	}
	t.put(hierarchy.Unified, g, err)
	return t, nil
}

// At returns the groups of a path, such as "/docker/0123" or a folder under /sys/fs/cgroup.
func (h *Host) At(p string) (*Target, error) {
	t := newTarget("group " + p)
	for _, c := range controllers {
		g, err := h.tree.At(p, c)
		if err == nil && g.IsRoot() {
			g, err = nil, fmt.Errorf("it is the root group of %s: %w", g.Name(), ErrRoot)
		}
		t.put(c, g, err)
	}
	if err := t.check(); err != nil {
		return t, err
	}
	g, err := h.tree.At(p, hierarchy.Unified)
	t.put(hierarchy.Unified, g, err)
	return t, nil
}

// Device returns the group to which the kernel charges I/O of no group: the root of version 1's blkio. In version 1
// the kernel writes back the page cache in this group, so a limit here, for a device that one volume has to itself,
// holds buffered writes. It doesn't apply to the groups below. Version 2 charges writeback to the writer, its root
// can't be limited, and the error wraps ErrUnsupported.
func (h *Host) Device() (*Target, error) {
	root, err := h.tree.Root(hierarchy.IO)
	if err != nil {
		return nil, err
	}
	if root.Version != 1 {
		return nil, fmt.Errorf("a limit for all groups on a device: %w: version 2 has none for the root group; it charges buffered writes to the group that wrote, so limit that", ErrUnsupported)
	}
	t := newTarget("the root group")
	t.single = true
	t.put(hierarchy.IO, root, nil)
	return t, nil
}

// Everyone returns the groups in which a limit of a device holds what the kernel can hold of the I/O of these processes and of writeback.
// Each of them has the limit for itself. With version 1 they are the root group, which does the writeback, and the groups of the processes,
// for direct and synchronous I/O. With version 2 they are all groups directly below the root: such a group has all I/O of the groups below
// it, buffered writes included, but processes in the root group have no limit. Groups without the io controller are left out
// there, so there may be none yet.
func (h *Host) Everyone(pids []int) ([]*Target, error) {
	root, err := h.tree.Root(hierarchy.IO)
	if err != nil {
		return nil, err
	}
	if root.Version == 2 {
		groups, err := h.tops(root)
		return targets(groups), err
	}
	groups := []*hierarchy.Group{root}
	for _, pid := range pids {
		g, err := h.Of(pid)
		if err != nil || slices.ContainsFunc(groups, func(o *hierarchy.Group) bool { return o.Dir == g.Dir }) {
			continue // It has ended, or its group is not visible from here.
		}
		groups = append(groups, g)
	}
	return targets(groups), nil
}

// Everywhere returns all groups that Everyone may have returned for any processes.
func (h *Host) Everywhere() ([]*Target, error) {
	root, err := h.tree.Root(hierarchy.IO)
	if err != nil {
		return nil, err
	}
	groups, err := h.leaves(root)
	if root.Version == 2 {
		groups, err = h.tops(root)
	}
	return targets(groups), err
}

// targets are single groups of the I/O controller.
func targets(groups []*hierarchy.Group) []*Target {
	all := make([]*Target, len(groups))
	for i, g := range groups {
		all[i] = newTarget("group " + g.Path)
		all[i].single = true
		all[i].put(hierarchy.IO, g, nil)
	}
	return all
}

// tops lists the groups directly below the root group of version 2 that have the controller.
func (h *Host) tops(root *hierarchy.Group) (groups []*hierarchy.Group, err error) {
	names, err := h.io.groups(root.Dir)
	for _, name := range names {
		g := *root
		g.Dir, g.Path = filepath.Join(root.Dir, name), path.Join(root.Path, name)
		if _, err := os.Stat(filepath.Join(g.Dir, ioMax)); err == nil {
			groups = append(groups, &g)
		}
	}
	return groups, err
}

// Of returns the I/O group of a process or thread. If the group is not visible from here, the error wraps
// hierarchy.ErrOutside, and the group only has its path.
func (h *Host) Of(pid int) (*hierarchy.Group, error) {
	return h.tree.Of(strconv.Itoa(pid), hierarchy.IO)
}

func newTarget(name string) *Target {
	return &Target{Name: name, groups: map[hierarchy.Controller]*hierarchy.Group{}, why: map[hierarchy.Controller]error{}}
}

func (t *Target) put(c hierarchy.Controller, g *hierarchy.Group, err error) {
	if err != nil {
		t.why[c] = fmt.Errorf("%s: %w", t.Name, err)
		return
	}
	t.groups[c] = g
}

// check returns the error of a target without any group.
func (t *Target) check() error {
	if len(t.groups) > 0 {
		return nil
	}
	// The reasons are mostly the same, and a missing controller is the least informative one.
	for _, c := range controllers {
		if err := t.why[c]; err != nil && !errors.Is(err, hierarchy.ErrNone) {
			return err
		}
	}
	return t.why[hierarchy.IO]
}

// ErrRoot is why the root group isn't limited for a process in it.
var ErrRoot = refusal.New("a limit there would slow down the whole machine; start the processes in a group of their own")

// owned returns the group to limit for a process in g.
func owned(g *hierarchy.Group, pid int, container, asked string) (*hierarchy.Group, error) {
	if container == "" {
		if g.IsRoot() {
			return nil, fmt.Errorf("it is in the root group of %s: %w", g.Name(), ErrRoot)
		}
		return g, nil
	}
	own := hierarchy.Own(g.Path, container, asked)
	for a := g; a != nil && own != ""; a = a.Parent() {
		if a.Path == own {
			return a, nil
		}
	}
	return nil, fmt.Errorf("process %d is in %s of %s, which does not carry the name of %s: it may be shared with others; "+
		"if it is not, name the group itself (cgroup:%s)", pid, g.Path, g.Name(), short(container), g.Path)
}

// short is an id as engines abbreviate it.
func short(container string) string {
	if len(container) == 64 {
		return container[:12]
	}
	return container
}
