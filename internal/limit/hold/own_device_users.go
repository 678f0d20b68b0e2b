package hold

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
)

// A present is one group's limits as the kernel has them, by device.
type present struct {
	group   *cgroup.Target
	devices map[device.Number]limit.Limits
}

// users are the processes that have volumes mounted in a mount namespace other than this process's: those of containers. A host has one namespace
// for all of its own processes, so that of those it isn't known which ones use a volume.
type users struct {
	fs device.FS
	// spaces are the mounts of each namespace, pids its processes.
	spaces map[string][]device.Mount
	pids   map[string][]int
}

// lookForUsers looks at all processes. Those that end meanwhile are left out.
func lookForUsers(fs device.FS) users {
	u := users{fs, map[string][]device.Mount{}, map[string][]int{}}
	own, err := os.Readlink(filepath.Join(fs.Proc, "self/ns/mnt"))
	if err != nil {
		return u
	}
	links, _ := filepath.Glob(filepath.Join(fs.Proc, "[0-9]*", "ns", "mnt"))
	for _, link := range links {
		space, err := os.Readlink(link)
		pid, bad := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(link))))
		if err != nil || bad != nil || space == own {
			continue
		}
		if _, known := u.spaces[space]; !known {
			if u.spaces[space], err = fs.MountsOf(strconv.Itoa(pid)); err != nil {
				delete(u.spaces, space)
				continue
			}
		}
		u.pids[space] = append(u.pids[space], pid)
	}
	return u
}

// of lists the processes of the namespaces in which a device is mounted. btrfs has a number of its own there.
func (u users) of(d device.Number) (pids []int) {
	var sources []string
	if disk, err := u.fs.Disk(d); err == nil {
		sources = append(sources, device.NodePath(disk.Name))
	}
	if name := device.Text(u.fs.Sys, "dev", "block", d.String(), "dm", "name"); name != "" {
		sources = append(sources, "/dev/mapper/"+name)
	}
	for space, mounts := range u.spaces {
		if slices.ContainsFunc(mounts, func(m device.Mount) bool { return m.Number == d || slices.Contains(sources, m.Source) }) {
			pids = append(pids, u.pids[space]...)
		}
	}
	return pids
}

// using returns what the kernel has in the groups that a limit of a device goes to.
func (w *DeviceLimits) using(d device.Number, u users) ([]present, error) {
	groups, err := w.groups.Everyone(u.of(d))
	if err != nil {
		return nil, err
	}
	return w.read(groups)
}

// anyone returns what the kernel has in all groups to which a limit of a device may have gone.
func (w *DeviceLimits) anyone() ([]present, error) {
	groups, err := w.groups.Everywhere()
	if err != nil {
		return nil, err
	}
	return w.read(groups)
}

func (w *DeviceLimits) read(groups []*cgroup.Target) (all []present, err error) {
	for _, g := range groups {
		states, err := w.groups.Read(g)
		if errors.Is(err, cgroup.ErrGone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, present{g, states[0].Devices})
	}
	return all, nil
}

// Anywhere returns the limits of a device that any group has.
func (w *DeviceLimits) Anywhere(d device.Number) (l limit.Limits, err error) {
	all, err := w.anyone()
	for _, p := range all {
		for _, k := range p.devices[d].Keys() {
			l = l.With(k, p.devices[d])
		}
	}
	return l, err
}
