package explain

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/host/device"
)

// A Shared is a set of disks that several of the explained paths are on.
type Shared struct {
	// Disks are the shared devices.
	Disks []Disk `json:"disks"`
	// Paths are the paths on them, in the order of the request.
	Paths []string `json:"paths"`
	// OneLimit is set where the limits of all Paths go on these disks, so that a container has one limit for all of
	// them. Otherwise each has its own limit further up, and they share the disks' time.
	OneLimit bool `json:"one_limit"`
	// What describes this in words, and Instead says how to separate the paths.
	What    string `json:"what"`
	Instead string `json:"instead,omitempty"`
}

// A Disk is a shared device.
type Disk struct {
	Name   string        `json:"name"`
	Number device.Number `json:"number"`
}

// Sharing finds the disks that more than one of the paths is on. Paths that have one limit anyway get no entry for a
// disk beneath it.
func Sharing(list []*Explanation) []Shared {
	var out []Shared
	for _, limits := range []bool{true, false} {
		var disks []Disk
		users := map[Disk][]string{}
		for _, e := range list {
			for _, dev := range e.disks(limits) {
				d := Disk{dev.Name, dev.Number}
				if !slices.Contains(disks, d) {
					disks = append(disks, d)
				}
				if !slices.Contains(users[d], e.Path) {
					users[d] = append(users[d], e.Path)
				}
			}
		}
		for _, d := range disks {
			if paths := users[d]; len(paths) > 1 && (limits || !oneLimit(out, paths)) {
				out = share(out, d, paths, limits)
			}
		}
	}
	for i := range out {
		out[i].words()
	}
	return out
}

// oneLimit reports whether an entry already says that the paths have one limit.
func oneLimit(known []Shared, paths []string) bool {
	return slices.ContainsFunc(known, func(s Shared) bool {
		return s.OneLimit && !slices.ContainsFunc(paths, func(p string) bool { return !slices.Contains(s.Paths, p) })
	})
}

// share adds a disk to the entry of the same paths, or to a new one.
func share(out []Shared, d Disk, paths []string, one bool) []Shared {
	for i := range out {
		if out[i].OneLimit == one && slices.Equal(out[i].Paths, paths) {
			out[i].Disks = append(out[i].Disks, d)
			return out
		}
	}
	return append(out, Shared{Disks: []Disk{d}, Paths: paths, OneLimit: one})
}

// words sets What and Instead.
func (s *Shared) words() {
	var names []string
	for _, d := range s.Disks {
		names = append(names, d.Name)
	}
	all, disks := strings.Join(s.Paths, " and "), strings.Join(names, ", ")
	if s.OneLimit {
		s.What = fmt.Sprintf("%s are on %s: a container that uses them has one limit for them together", all, disks)
		s.Instead = "give each a device of its own: a logical volume, or a loop device over a file"
		return
	}
	s.What = fmt.Sprintf("%s have separate limits, but share a disk beneath (%s): their limits together may be more than it can do, and weights divide it", all, disks)
}

// disks lists the devices for hard limits, or the disks at the bottom.
func (e *Explanation) disks(limits bool) []*device.Device {
	var list []*device.Device
	var visit func(*Layer)
	visit = func(l *Layer) {
		// The path devices of an NVMe namespace are hidden: its head is the disk.
		bottom := len(l.Below) == 0 || l.Kind == device.KindMultipath
		for _, b := range l.Below {
			if !bottom {
				visit(b)
			}
		}
		if l.Device == nil || l.Kind == device.KindPartition || l.Role == device.RoleLog {
			return
		}
		written := slices.Contains(hardNames(e.Hard), l.Name)
		if limits && written && l.Limit || !limits && bottom {
			list = append(list, l.Device)
		}
	}
	visit(e.Tree)
	return list
}

// others lists the mounts of other data on the devices for hard limits: other file systems, and the path's own file
// system if the path is only a part of it. A limit for the whole device would slow these down too.
func (h *Host) others(path string, n *device.Node, spots []Spot) []string {
	mounts, err := h.fs.Mounts()
	if err != nil {
		return nil
	}
	data, all := n.Data(), whole(path, n)
	var list []string
	for _, m := range mounts {
		own := m.Number == data.Mount.Number && data.Mount.FSType != device.RawBlock
		// Mounts of the path's own file system count if they show all of it.
		if m.Number.Major == 0 || own && (all || m.Root != "/") {
			continue
		}
		d, err := h.fs.Disk(m.Number)
		if err == nil && slices.ContainsFunc(spots, func(s Spot) bool { return s.Name == d.Name && !s.ReadsOnly }) && !slices.Contains(list, m.Point) {
			list = append(list, m.Point)
		}
	}
	if len(list) == 0 && !all {
		list = append(list, data.Mount.Point) // Mounted in a container only, not on the host.
	}
	return list
}

// whole reports whether a path is a whole file system or a device: the mount point of a mount that shows the file
// system from its root. The machine's root counts as shared.
func whole(path string, n *device.Node) bool {
	m := n.Mount
	if m.FSType == device.RawBlock {
		return true
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if real, err := filepath.EvalSymlinks(path); err == nil && m.Point == real {
		path = real
	}
	return n == n.Data() && m.Root == "/" && m.Point == path && path != "/"
}
