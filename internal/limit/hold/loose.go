package hold

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
	// Processes is how many of the part's are in it.
	Processes int
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
				list = append(list, Loose{g, n, s.Devices})
			}
		}
	}
	if p.Target.Kind != target.Container || p.Target.PID == 0 {
		return list, nil
	}
	return append(list, h.moved(p.Target.PID, groups[0])...), nil
}

// moved lists the groups outside of own in which descendants of a container's first process are. What ends meanwhile is left out.
func (h *Holder) moved(pid int, own *hierarchy.Group) []Loose {
	var list []Loose
	at := map[string]int{}
	for _, p := range procfs.Descendants("/proc", pid) {
		var g *hierarchy.Group
		t, err := h.Groups.Find(p, "", "")
		if err == nil {
			g, err = t.Group(hierarchy.IO)
		}
		if errors.Is(err, cgroup.ErrRoot) {
			t, g, err = h.root()
		}
		if err != nil || g.Path == own.Path || strings.HasPrefix(g.Path, own.Path+"/") {
			continue
		}
		if i, ok := at[g.Path]; ok {
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
		at[g.Path] = len(list)
		list = append(list, Loose{g, 1, has})
	}
	return list
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
