package check

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/size"
)

// nearLimit is the share of a limit from which on it may have determined the figure. A limit shared with others of its
// group is near if all of them together are, which the device's counters show. Below a half, not even a job that comes in
// bursts is held.
const nearLimit = 0.5

// waitedMemory is the share of the window for which the worker may wait for memory under a limit on it. It is the margin
// that figures are compared with.
const waitedMemory = 0.05

// checkForeignLimit reports limits that the cell doesn't have and that may have held its I/O. Such a figure doesn't describe the
// place.
func checkForeignLimit(v *view) []record.Warning {
	var words []string
	var rows []map[string]any
	for _, f := range v.where.Foreign {
		seen, near := v.nearTo(f)
		if !near || v.ownBinds(f) {
			continue
		}
		words = append(words, f.String())
		rows = append(rows, map[string]any{"group": f.Group, "file": f.File, "key": string(f.Key), "value": f.Value, "device": f.Number, "seen": seen})
	}
	for _, c := range v.where.Costs {
		if c.Share >= nearLimit {
			words = append(words, fmt.Sprintf("iocost on %s (%s), whose model says that the group %s used %s of the device's time", c.Device, c.Number, c.Group, percent(min(1, c.Share))))
			rows = append(rows, map[string]any{"group": c.Group, "file": "io.cost.qos", "key": "iocost", "device": c.Number, "seen": c.Share})
		}
	}
	if d := v.dirty(); d != nil {
		words = append(words, fmt.Sprintf("memory=%s in %s, by which no more than %s may be unwritten data before writers wait for the disk", size.Format(d.Limit), d.Group, bytes(float64(d.Room))))
		rows = append(rows, map[string]any{"group": d.Group, "file": "memory.max", "key": string(limit.Memory), "value": d.Limit, "device": "", "seen": v.written.app})
	}
	if len(words) == 0 {
		return nil
	}
	what := "a limit that this cell doesn't have was"
	if len(words) > 1 {
		what = "limits that this cell doesn't have were"
	}
	return warning(Foreign, record.Doubt, map[string]any{"limits": rows},
		"The figure may show a limit, not the place: %s in force, %s.", what, strings.Join(words, " and "))
}

// dirty is the memory limit that made buffered writes wait for the disk although the memory was not used up; nil if none
// did. One did if the trial wrote more than the limit allows as unwritten data, and tasks waited for I/O.
func (v *view) dirty() *record.Dirty {
	d := v.where.Dirty
	if d == nil || v.direct || v.synced || v.written.app <= float64(d.Room) {
		return nil
	}
	f := limit.Applied{Key: limit.Memory, Value: float64(d.Limit), Group: d.Group}
	told := slices.ContainsFunc(v.where.Foreign, func(o limit.Applied) bool { _, near := v.nearTo(o); return o.Key == limit.Memory && near })
	if waited := v.host().IOSome; told || v.ownBinds(f) || waited >= 0 && waited <= waitedMemory {
		return nil
	}
	return d
}

// nearTo reports whether a limit may have determined the figure, and how much of the limited resource was used: a rate per
// second; a number of CPUs; for memory, the share of the time in which some task waited for it. -1 is unknown.
func (v *view) nearTo(f limit.Applied) (seen float64, near bool) {
	switch f.Key {
	case limit.CPUs:
		if v.elapsed <= 0 {
			return -1, false
		}
		seen = v.cpu().Seconds() / v.elapsed.Seconds()
		wanted := seen // The CPUs that it would have used on an idle machine.
		for i := range v.results {
			wanted += max(0, v.results[i].Starved)
		}
		return seen, wanted >= nearLimit*f.Value
	case limit.Memory:
		// A memory limit is listed only if it was reached, which costs next to nothing when all of it is page cache.
		seen = v.host().MemorySome
		return seen, seen > waitedMemory
	}
	seen = v.seenBelow(f)
	return seen, v.reaches(f) && !(seen >= 0 && seen < nearLimit*f.Value)
}

// reaches reports whether a limit applies to the trial's I/O. A limit of version 1's root group doesn't apply to a process
// of another group, but to what the kernel writes for it: from the page cache, for a journal, and beneath the first device.
func (v *view) reaches(f limit.Applied) bool {
	read := f.Key == limit.ReadBPS || f.Key == limit.ReadIOPS
	if read && v.read.app <= 0 || !read && v.written.app <= 0 {
		return false
	}
	top := v.where.Device != nil && v.where.Device.Name == f.Device
	return f.By != limit.ByDevice || !top || !read && (!v.direct || v.synced)
}

// ownBinds reports whether the cell has a limit of its own that is no greater, for all clients together.
func (v *view) ownBinds(f limit.Applied) bool {
	own := v.where.Held.Of(f.Key)
	return own > 0 && own*float64(len(v.t.Results)) <= f.Value
}

// seenBelow is the rate that the limit f applies to: the application's, or, if it is higher, that of all programs on the
// limit's device. It is -1 where the device's counters aren't known.
func (v *view) seenBelow(f limit.Applied) float64 {
	most := -1.0
	for i := range v.results {
		r := &v.results[i]
		d, ok := disk(r, f.Device)
		if !ok || r.Elapsed <= 0 {
			return -1
		}
		n := map[limit.Key]int64{limit.ReadBPS: d.ReadBytes, limit.WriteBPS: d.WrittenBytes, limit.ReadIOPS: d.Reads, limit.WriteIOPS: d.Writes}[f.Key]
		most = max(most, float64(n)/r.Elapsed.Seconds())
	}
	if most < 0 || v.elapsed <= 0 {
		return -1
	}
	app := v.written.app
	if f.Key == limit.ReadBPS || f.Key == limit.ReadIOPS {
		app = v.read.app
	}
	if f.Key == limit.ReadIOPS || f.Key == limit.WriteIOPS {
		app = float64(ops(v.results))
	}
	return max(most, app/v.elapsed.Seconds())
}
