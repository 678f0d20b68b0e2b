package target

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	cgroups "plimsoll/internal/host/hierarchy"
)

// A Group is a target's control group in one hierarchy. A host has one hierarchy of
// version 2 or several of version 1, or both.
type Group struct {
	// Version is 1 or 2.
	Version int `json:"version"`
	// Controllers are those of a hierarchy of version 1, such as cpu and cpuacct, or its name: "name=systemd". It is empty for
	// version 2.
	Controllers []string `json:"controllers"`
	// Path is below the hierarchy's mount point, as seen from this process's cgroup namespace: "/docker/<id>".
	Path string `json:"path"`
	// Shared is whether the group is not the container's own: its limits hold other processes too. For a target without a container
	// it is whether that is unknown.
	Shared bool `json:"shared"`
}

// Groups reads which groups a container's or process's PID is in now: the container's own groups, even if its first process has
// moved to a group below. For other kinds it returns the groups that Resolve found.
func (f *Finder) Groups(t Target) ([]Group, error) {
	if t.PID == 0 || t.Kind == Unit || t.Kind == Cgroup {
		return t.Groups, nil
	}
	groups, err := f.groupsOf(t.PID)
	if err != nil {
		return nil, f.gone(t, err)
	}
	if err := f.Alive(t); err != nil {
		// Another process has the number by now, so these are that process's groups.
		return nil, err
	}
	for i := range groups {
		g := &groups[i]
		if t.Kind == Process {
			g.Shared = true
			continue
		}
		own := cgroups.Own(g.Path, t.ID, t.cgroupsPath)
		if g.Shared = own == ""; !g.Shared {
			g.Path = own
		}
	}
	return groups, nil
}

func (f *Finder) groupsOf(pid int) ([]Group, error) {
	r, err := os.Open(filepath.Join(f.opt.Proc, strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return parseGroups(r)
}

// parseGroups reads the format of cgroups(7), /proc/pid/cgroup:
//
//	7:cpu,cpuacct:/docker/abc
//	1:name=systemd:/docker/abc
//	0::/system.slice/docker-abc.scope
func parseGroups(r io.Reader) ([]Group, error) {
	var groups []Group
	for s := bufio.NewScanner(r); s.Scan(); {
		f := strings.SplitN(s.Text(), ":", 3)
		if len(f) != 3 || !strings.HasPrefix(f[2], "/") {
			return nil, fmt.Errorf("process's groups: line %q can't be read", s.Text())
		}
		// The group was removed while a zombie is in it.
		g := Group{Version: 1, Path: strings.TrimSuffix(f[2], " (deleted)")}
		switch {
		case f[0] == "0" && f[1] == "":
			g.Version = 2
		case f[1] == "":
			// A hierarchy without a controller or a name limits nothing.
			continue
		default:
			g.Controllers = strings.Split(f[1], ",")
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// isEngineID reports whether an engine made the id: it has 64 hexadecimal digits.
func isEngineID(id string) bool {
	return len(id) == 64 && strings.Trim(id, "0123456789abcdef") == ""
}
