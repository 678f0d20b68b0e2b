package engineapi

import (
	"slices"

	"plimsoll/internal/limit"
)

// A Which says which limits of a container are meant. The zero value means all.
type Which struct {
	// Devices are those whose limits are meant, of the limits that are for devices. nil: all.
	Devices []Device
	// Keys are the kinds of limits. nil: all.
	Keys []limit.Key
}

// In is the part of l that is meant.
func (w Which) In(l Resources) Resources {
	out := l
	out.Devices = nil
	w.keep(limit.Weight, func() { out.Weight = 0 })
	w.keep(limit.CPUs, func() { out.CPUs, out.CPUCount, out.CPUPercent = 0, 0, 0 })
	w.keep(limit.CPUShares, func() { out.CPUShares = 0 })
	w.keep(limit.Memory, func() { out.Memory = 0 })
	if w.Keys != nil {
		out.Isolation = ""
		// Windows' limits of its drive are for both directions.
		if !slices.ContainsFunc(w.Keys, limit.Key.Rate) {
			out.SystemBPS, out.SystemIOPS = 0, 0
		}
	}
	for _, d := range l.Devices {
		if w.Devices != nil && !among(w.Devices, d) {
			continue
		}
		for k, p := range d.values() {
			w.keep(k, func() { *p = 0 })
		}
		w.keep(limit.Weight, func() { d.Weight = 0 })
		if !d.empty() {
			out.Devices = append(out.Devices, d)
		}
	}
	return out
}

// keep calls drop if a key isn't meant.
func (w Which) keep(k limit.Key, drop func()) {
	if w.Keys != nil && !slices.Contains(w.Keys, k) {
		drop()
	}
}

// others are the devices' limits that are not meant.
func (w Which) others(l Resources) []Device {
	var out []Device
	for _, d := range l.Devices {
		if w.Devices == nil || among(w.Devices, d) {
			for k, p := range d.values() {
				if w.Keys == nil || slices.Contains(w.Keys, k) {
					*p = 0
				}
			}
			if w.Keys == nil || slices.Contains(w.Keys, limit.Weight) {
				d.Weight = 0
			}
		}
		if !d.empty() {
			out = append(out, d)
		}
	}
	return out
}

// values are a device's rates by their keys.
func (d *Device) values() map[limit.Key]*uint64 {
	return map[limit.Key]*uint64{limit.ReadBPS: &d.ReadBPS, limit.WriteBPS: &d.WriteBPS, limit.ReadIOPS: &d.ReadIOPS, limit.WriteIOPS: &d.WriteIOPS}
}

// empty reports whether d has no limits.
func (d Device) empty() bool {
	return d.ReadBPS == 0 && d.WriteBPS == 0 && d.ReadIOPS == 0 && d.WriteIOPS == 0 && d.Weight == 0
}
