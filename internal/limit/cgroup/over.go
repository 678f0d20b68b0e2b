package cgroup

import (
	"path/filepath"
	"slices"
	"strconv"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
)

// Over returns the limits on rates that hold what process pid does on some devices, whoever set them. In version 2 those of its group
// and of all above it that can be seen from here. Version 1 holds each group by itself, and no group above it has a say; but the
// root group's are among them, by limit.ByDevice where the process is in another: it holds what the kernel writes back.
// What can't be read, such as the groups of a process that has ended, is an error, with what was found before.
func (h *Host) Over(pid int, devices []device.Number) ([]limit.Applied, error) {
	g, err := h.tree.Of(strconv.Itoa(pid), hierarchy.IO)
	if err != nil {
		return nil, err
	}
	p := planner{host: h, target: newTarget("process " + strconv.Itoa(pid)), diff: &Diff{host: h}, buf: buffers.Get().(*[]byte)}
	defer buffers.Put(p.buf)
	found, err := p.over(g, limit.ByGroup, devices)
	if err != nil {
		return nil, err
	}
	if g.Version == 1 {
		root, err := h.tree.Root(hierarchy.IO)
		if err != nil || root.Dir == g.Dir {
			return found, err
		}
		more, err := p.over(root, limit.ByDevice, devices)
		return append(found, more...), err
	}
	for above := g.Parent(); above != nil; above = above.Parent() {
		more, err := p.over(above, limit.ByGroup, devices)
		found = append(found, more...)
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// over are the rates that one group has for devices.
func (p *planner) over(g *hierarchy.Group, by string, devices []device.Number) (found []limit.Applied, err error) {
	add := func(d device.Number, i int, value uint64, file string) {
		if value == 0 || !slices.Contains(devices, d) {
			return
		}
		found = append(found, limit.Applied{
			Key: rateFiles[i].key, Value: float64(value), Device: filepath.Base(p.host.sysfs(d)), Number: d, By: by, Group: g.Path, File: file,
		})
	}
	if g.Version == 2 {
		now, err := parsed(p, g, ioMax, parseMax)
		for _, m := range now {
			for i, v := range m.fields {
				add(m.device, i, v, ioMax)
			}
		}
		return found, err
	}
	for i, f := range rateFiles {
		now, err := parsed(p, g, f.v1, parseThrottle)
		if err != nil {
			return found, err
		}
		for _, v := range now {
			add(v.device, i, v.value, f.v1)
		}
	}
	return found, nil
}
