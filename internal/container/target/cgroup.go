package target

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/host/device"
)

// cgroup finds the target of cgroup:PATH. The path is one below a hierarchy, as in /proc/pid/cgroup, or that of the folder
// (/sys/fs/cgroup/...). It means the group of that path in every hierarchy that has one.
func (f *Finder) cgroup(r Ref) (Target, error) {
	hierarchies, err := f.hierarchies()
	if err != nil {
		return Target{}, err
	}
	p := r.Name
	for _, h := range hierarchies {
		if below, ok := strings.CutPrefix(p, h.point); ok && strings.HasPrefix(below, "/") {
			p = below
			break
		}
	}
	t := Target{Kind: Cgroup, Name: p, Running: true, State: "there"}
	if t.Groups, err = at(hierarchies, p); err != nil {
		return Target{}, err
	}
	if len(t.Groups) == 0 {
		var points []string
		for _, h := range hierarchies {
			points = append(points, h.point)
		}
		if len(points) == 0 {
			return Target{}, fmt.Errorf("control group %s: no hierarchy of control groups is mounted here; mount -t cgroup2 cgroup2 /sys/fs/cgroup", p)
		}
		return Target{}, fmt.Errorf("there is no control group %s: no such folder in %s", p, strings.Join(points, ", "))
	}
	return t, nil
}

// A hierarchy is a mounted hierarchy of control groups.
type hierarchy struct {
	point string
	// group describes it; its Path is empty.
	group Group
}

// hierarchies lists the mounted hierarchies, each once.
func (f *Finder) hierarchies() ([]hierarchy, error) {
	mounts, err := device.FS{Proc: f.opt.Proc}.Mounts()
	if err != nil {
		return nil, fmt.Errorf("control groups: %w", err)
	}
	var hs []hierarchy
	for _, m := range mounts {
		g := Group{Version: 2, Shared: true}
		switch m.FSType {
		case "cgroup":
			g.Version = 1
			// Options are the mount's and the hierarchy's own: rw,relatime,rw,cpu,cpuacct.
			for o := range strings.SplitSeq(m.Options, ",") {
				if !slices.Contains(mountOptions, o) && !strings.HasPrefix(o, "release_agent=") {
					g.Controllers = append(g.Controllers, o)
				}
			}
		case "cgroup2":
		default:
			continue
		}
		if slices.ContainsFunc(hs, func(h hierarchy) bool {
			return h.group.Version == g.Version && slices.Equal(h.group.Controllers, g.Controllers)
		}) {
			continue
		}
		hs = append(hs, hierarchy{m.Point, g})
	}
	return hs, nil
}

// mountOptions are the options of a cgroup mount that are no controllers (mount(8), and the kernel's
// Documentation/admin-guide/cgroup-v1/cgroups.rst).
var mountOptions = []string{"rw", "ro", "relatime", "noatime", "nosuid", "nodev", "noexec", "xattr", "clone_children", "noprefix", "cpuset_v2_mode", "all"}

// at returns the groups of a path in the hierarchies that have it.
func at(hierarchies []hierarchy, p string) ([]Group, error) {
	var groups []Group
	for _, h := range hierarchies {
		st, err := os.Stat(path.Join(h.point, p))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, fmt.Errorf("control group %s: %w", p, err)
		case !st.IsDir():
			return nil, fmt.Errorf("control group %s: %s is a file in a group, and not a group; name its folder", p, path.Join(h.point, p))
		}
		g := h.group
		g.Path = p
		groups = append(groups, g)
	}
	return groups, nil
}
