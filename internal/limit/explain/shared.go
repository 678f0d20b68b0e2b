package explain

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/device"
)

// A Shared is a disk that several of the explained paths are on.
type Shared struct {
	Name  string `json:"name"`
	Major uint32 `json:"major"`
	Minor uint32 `json:"minor"`
	// Paths are those on it, in the order in which they were asked for.
	Paths []string `json:"paths"`
	// OneLimit is set where the limits of all of them go on this disk, so that a container has one
	// limit for them together. Otherwise each has a limit of its own, above, and they share the disk's time.
	OneLimit bool `json:"one_limit"`
	// What says so in words, and Instead what would separate them.
	What    string `json:"what"`
	Instead string `json:"instead,omitempty"`
}

// Sharing finds the disks that more than one of the paths is on. A disk beneath those that are shared
// anyway is not named again.
func Sharing(list []*Explanation) []Shared {
	var out []Shared
	for _, limits := range []bool{true, false} {
		var disks []*device.Device
		users := map[string][]string{}
		for _, e := range list {
			for _, d := range e.disks(limits) {
				if !slices.ContainsFunc(disks, func(o *device.Device) bool { return o.Name == d.Name }) {
					disks = append(disks, d)
				}
				if !slices.Contains(users[d.Name], e.Path) {
					users[d.Name] = append(users[d.Name], e.Path)
				}
			}
		}
		for _, d := range disks {
			paths := users[d.Name]
			known := slices.ContainsFunc(out, func(s Shared) bool {
				return !slices.ContainsFunc(paths, func(p string) bool { return !slices.Contains(s.Paths, p) })
			})
			if len(paths) < 2 || known && !limits {
				continue
			}
			out = append(out, shared(d, paths, limits))
		}
	}
	return out
}

func shared(d *device.Device, paths []string, one bool) Shared {
	s := Shared{Name: d.Name, Major: d.Major, Minor: d.Minor, Paths: paths, OneLimit: one}
	all := strings.Join(paths, " and ")
	if one {
		s.What = fmt.Sprintf("%s are on %s: a container that uses them has one limit for them together, and others' limits are for %s as a whole", all, d.Name, d.Name)
		s.Instead = "give each a device of its own: a logical volume, or a loop device over a file"
		return s
	}
	s.What = fmt.Sprintf("%s have limits of their own, but share the disk %s: their limits together may be more than it can do, and weights share it out", all, d.Name)
	return s
}

// disks lists the devices that hard limits go on, or those at the bottom.
func (e *Explanation) disks(limits bool) []*device.Device {
	var list []*device.Device
	var visit func(*Layer)
	visit = func(l *Layer) {
		for _, b := range l.Below {
			visit(b)
		}
		if l.Device == nil || l.Kind == device.KindPartition || l.Role == device.RoleLog {
			return
		}
		written := slices.Contains(hardNames(e.Hard), l.Name)
		if limits && written && l.Limit || !limits && len(l.Below) == 0 && l.Kind != device.KindPath {
			list = append(list, l.Device)
		}
	}
	visit(e.Tree)
	return list
}

// others lists where other file systems on the devices of hard limits are mounted, and the mount itself
// where it is the root: all that a limit for the whole device would slow down too.
func (h *Host) others(data *device.Node, spots []Spot) []string {
	mounts, err := h.fs.Mounts()
	if err != nil {
		return nil
	}
	var list []string
	for _, m := range mounts {
		own := m.Major == data.Mount.Major && m.Minor == data.Mount.Minor
		if m.Major == 0 || own && m.Point != "/" {
			continue
		}
		d, err := h.fs.Disk(m.Major, m.Minor)
		if err == nil && slices.ContainsFunc(spots, func(s Spot) bool { return s.Name == d.Name && !s.ReadsOnly }) && !slices.Contains(list, m.Point) {
			list = append(list, m.Point)
		}
	}
	return list
}
