package cgroup

import (
	"errors"
	"fmt"
	"strconv"

	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/text/refusal"
)

// controllers are those that limits need.
var controllers = []hierarchy.Controller{hierarchy.IO, hierarchy.CPU, hierarchy.Memory}

// A Target is the groups that one container, process or unit is limited by: one of each
// controller, where it has one.
type Target struct {
	// Name is what errors call it.
	Name   string
	groups map[hierarchy.Controller]*hierarchy.Group
	// why is the reason why there is no group of a controller.
	why map[hierarchy.Controller]error
	// single says that groups below count as somebody else's.
	single bool
}

// Group returns the target's group of a controller. The error says why it has none: it wraps
// hierarchy.ErrNone where no such controller is mounted.
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

// Charged lists the groups whose counters add up to what a target did, its own first: in version 1 all that
// are below it, too. The error wraps ErrGone if its own was removed.
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

// Below lists the group and all that are below it, where its processes are; of the root group, which everybody is below, only
// itself.
func (h *Host) Below(t *Target, g *hierarchy.Group) ([]*hierarchy.Group, error) {
	if t.single {
		return []*hierarchy.Group{g}, nil
	}
	return h.leaves(g)
}

// Find returns the groups of a container whose first process is pid. container is its full id, or its
// name for an OCI runtime, and asked the group that its config.json asks for, if that is known: the topmost group that is
// called so is the container's (hierarchy.Own), also
// where processes moved to groups below it (systemd in a container, podman's own). With an
// empty container the groups are those that the process is in.
//
// A controller by which the process is in the root group, or in no group of the container's, is
// left out, and Group says so. It is an error if that leaves nothing.
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
			g, err = nil, fmt.Errorf("%s is the root group of %s: %w", p, g.Name(), ErrRoot)
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

// Device returns the group that the kernel charges for I/O of no group: the
// root of version 1's blkio. On version 1 it writes back what others wrote to the page
// cache, so that a limit here, for a device that one volume has to itself, holds buffered writes. It
// holds no group below it. On version 2 writeback is charged to who wrote, the root can't
// be limited, and the error wraps ErrUnsupported.
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

// Of returns the group of I/O that a process or thread is in. The error wraps hierarchy.ErrOutside for one that can't be seen from here, of which the
// group has the path.
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

// check is the error of a target that has no group at all.
func (t *Target) check() error {
	if len(t.groups) > 0 {
		return nil
	}
	// They mostly say the same, and a missing controller says less than any other.
	for _, c := range controllers {
		if err := t.why[c]; err != nil && !errors.Is(err, hierarchy.ErrNone) {
			return err
		}
	}
	return t.why[hierarchy.IO]
}

// ErrRoot is why the root group isn't limited for somebody who is in it.
var ErrRoot = refusal.New("a limit there would hold the whole machine; start the processes in a group of their own")

// owned returns the group to be limited for a process in g.
func owned(g *hierarchy.Group, pid int, container, asked string) (*hierarchy.Group, error) {
	if container == "" {
		if g.IsRoot() {
			return nil, fmt.Errorf("process %d is in the root group of %s: %w", pid, g.Name(), ErrRoot)
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

// short is an id as engines print it.
func short(container string) string {
	if len(container) == 64 {
		return container[:12]
	}
	return container
}
