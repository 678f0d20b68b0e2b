package cgroup

import (
	"path/filepath"
	"slices"
	"strconv"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
)

// Over returns all limits on rates that apply to process pid on some devices, those of other programs too. In version 2 these
// are the limits of its group and of all visible groups above it. Version 1 only applies each group's own limits; but
// the root group's are included, as limit.ByDevice if the process is in another group, since they apply to writeback.
// If something can't be read, such as the groups of an ended process, Over returns an error and the limits found
// before.
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

// over are one group's rates on devices.
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
