package hold

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/device/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/target"
	"plimsoll/internal/procfs"
)

// A Loose is a group, other than a part's own, that has processes of the part and is not held by the limits of the part's group.
type Loose struct {
	Group *hierarchy.Group
	// Processes is how many of the part's are in it, or have threads in it.
	Processes int
	// Outside: the group is not below the part's own, so that setting the part's limits doesn't reach it.
	Outside bool
	// Devices are the rates that the group has itself.
	Devices map[cgroup.Device]limit.Limits
}

// Lacks reports whether the group lets more through on a device than a limit.
func (l Loose) Lacks(d cgroup.Device, k limit.Key, asked int64) bool {
	has := l.Devices[d]
	n := *has.Whole(k)
	return n == 0 || n > asked
}

// Loose lists the groups, other than a part's own, that have processes of the part. In version 1 each group has limits of its own, so groups
// below the part's own count too; in both versions a container's processes may have been moved to another group.
func (h *Holder) Loose(p Part) ([]Loose, error) {
	if p.Target == nil || p.Groups == nil {
		return nil, nil
	}
	groups, err := h.Groups.Charged(p.Groups)
	if err != nil {
		return nil, err
	}
	states, err := h.Groups.Read(p.Groups)
	if err != nil {
		return nil, err
	}
	var list []Loose
	for _, g := range groups[1:] {
		n, err := processes(g)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			continue // What is in it later is looked at later.
		}
		for _, s := range states[1:] {
			if s.Group == g.Path {
				list = append(list, Loose{Group: g, Processes: n, Devices: s.Devices})
			}
		}
	}
	inside := []int{p.Target.PID}
	switch {
	case p.Target.PID == 0:
		return list, nil
	case p.Target.Kind == target.Container:
		inside = procfs.Inside("/proc", p.Target.PID)
	case p.Target.Kind != target.Process:
		return list, nil
	}
	return append(list, h.moved(inside, groups[0])...), nil
}

// moved lists the groups outside of own in which processes of a target are, or threads of them. What ends meanwhile is left out.
func (h *Holder) moved(inside []int, own *hierarchy.Group) []Loose {
	var list []Loose
	last := map[string]int{} // The process that was last counted in a group.
	for _, p := range inside {
		for _, thread := range threads(p, own) {
			t, g, err := h.of(thread)
			if err != nil || g.Path == own.Path || strings.HasPrefix(g.Path, own.Path+"/") || last[g.Path] == p {
				continue
			}
			if _, err := procfs.Running("/proc", thread); err != nil {
				continue // Version 1 shows one on its way out in the root group.
			}
			last[g.Path] = p
			if i := slices.IndexFunc(list, func(l Loose) bool { return l.Group.Path == g.Path }); i >= 0 {
				list[i].Processes++
				continue
			}
			var has map[cgroup.Device]limit.Limits
			if t != nil {
				states, err := h.Groups.Read(t)
				if err != nil {
					continue
				}
				has = states[0].Devices
			}
			list = append(list, Loose{Group: g, Processes: 1, Outside: true, Devices: has})
		}
	}
	return list
}

// threads are those of a process whose groups are looked at: version 2 has all threads of a process in one group of I/O.
func threads(pid int, own *hierarchy.Group) []int {
	if own.Version == 2 {
		return []int{pid}
	}
	return procfs.Threads("/proc", pid)
}

// of returns the groups that a thread is in, and that of I/O; t is nil where the group takes no limits.
func (h *Holder) of(thread int) (t *cgroup.Target, g *hierarchy.Group, err error) {
	if t, err = h.Groups.Find(thread, "", ""); err == nil {
		g, err = t.Group(hierarchy.IO)
	}
	if errors.Is(err, cgroup.ErrRoot) {
		return h.root()
	}
	return t, g, err
}

// root is the root group of I/O. Version 2's has no limits, and t is nil.
func (h *Holder) root() (t *cgroup.Target, g *hierarchy.Group, err error) {
	if g, err = h.Groups.Root(); err == nil && g.Version == 1 {
		t, err = h.Groups.Device()
	}
	return t, g, err
}

// processes counts those in a group itself; 0 for one that has gone.
func processes(g *hierarchy.Group) (int, error) {
	b, err := os.ReadFile(filepath.Join(g.Dir, "cgroup.procs"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return strings.Count(string(b), "\n"), err
}
