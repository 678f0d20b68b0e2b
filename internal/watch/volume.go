package watch

import (
	"slices"
	"strings"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/hold"
)

// Volumes lists the volumes of running containers, by name. It needs all known containers: a volume that shares its
// device with another volume has no device of its own.
func Volumes(h *hold.Holder, containers []target.Target) []Volume {
	all := map[string]*Volume{}
	for _, t := range containers {
		addVolumesOf(h, all, t)
	}
	return separate(all)
}

// addVolumesOf adds the volumes that a container uses.
func addVolumesOf(h *hold.Holder, all map[string]*Volume, t target.Target) {
	for _, m := range t.Mounts {
		if m.Volume != "" {
			addVolume(h, all, target.Target{Kind: target.Volume, Engine: t.Engine, Name: m.Volume, Mounts: []target.Mount{m}, Users: []target.Target{t}})
		}
	}
}

// addVolume adds a volume, or one more user of it.
func addVolume(h *hold.Holder, all map[string]*Volume, t target.Target) {
	ref := t.Ref()
	v := all[ref]
	if v == nil {
		v = &Volume{Ref: ref, Engine: string(t.Engine), Name: t.Name}
		if len(t.Mounts) > 0 {
			v.Path = t.Mounts[0].Source
		}
		e, err := h.LookVolume(t)
		switch {
		case err != nil:
			v.Why = err.Error()
		case !e.Possible:
			v.Why = e.Why
		default:
			for _, s := range e.Hard {
				v.Devices = append(v.Devices, s.Number)
			}
			// The mount must be the root of its file system, and there must be no other on the device.
			if m := e.Tree.Mount; e.Own() && m.Root == "/" && m.Point == v.Path {
				v.Own = true
			} else {
				v.Why = "other data is on its device, and the kernel counts by device"
			}
		}
		all[ref] = v
	}
	for _, u := range t.Users {
		if !slices.Contains(v.Users, u.Ref()) {
			v.Users = append(v.Users, u.Ref())
		}
	}
}

// separate lists volumes by name. Volumes that share a device have none of their own.
func separate(all map[string]*Volume) []Volume {
	var out []Volume
	for _, v := range all {
		for _, o := range all {
			if o != v && v.Own && slices.ContainsFunc(o.Devices, func(n device.Number) bool { return slices.Contains(v.Devices, n) }) {
				v.Own, v.Why = false, o.Ref+" is on its device too, and the kernel counts by device"
			}
		}
		slices.Sort(v.Users)
		out = append(out, *v)
	}
	slices.SortFunc(out, func(a, b Volume) int { return strings.Compare(a.Ref, b.Ref) })
	return out
}
