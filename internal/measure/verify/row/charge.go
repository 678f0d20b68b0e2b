package row

import (
	"os"
	"time"

	"plimsoll/internal/host/cgroupio"
	"plimsoll/internal/host/hierarchy"
)

// A count is what was done so far: by a device, or by the device for a group.
type count struct{ reads, writes, readBytes, writtenBytes int64 }

// plus is n and times as much of o.
func (n count) plus(o count, times int64) count {
	return count{n.reads + times*o.reads, n.writes + times*o.writes, n.readBytes + times*o.readBytes, n.writtenBytes + times*o.writtenBytes}
}

// A charge is what the kernel has charged on the request's device so far.
//
// It tells a trial from its neighbours: the device's own counters are of all who use it. In version 1 an I/O is
// charged when it is submitted, before a limit makes it wait: of a short time the figures may be ahead of the
// device's, of all of a row they are the same.
type charge struct {
	// own is what was charged to the group that the limit is for.
	own count
	// nobody is what was charged to version 1's root group: what the kernel writes back, whoever wrote it. nil where each group
	// is charged for that, in version 2.
	nobody *count
	// others is what was charged in version 1 to all groups but own and kin, the root group among them; nil in version 2, where own is exact.
	others *count
	// kin is what was charged in version 1 to the target's other groups, each of which has a limit for itself or none.
	kin count
}

// charges reads them; nil where the kernel doesn't count, or where the request names no group.
func (r Request) charges() *charge {
	if r.Group == nil {
		return nil
	}
	key := r.Device.Number()
	read := func(g *hierarchy.Group) (n count, listed bool, err error) {
		all, err := cgroupio.GroupCounters(g, os.ReadFile)
		c, listed := all[key]
		return count{c.Reads, c.Writes, c.ReadBytes, c.WriteBytes}, listed, err
	}
	own, _, err := read(r.Group)
	if err != nil {
		return nil
	}
	if r.Group.Version == 2 {
		return &charge{own: own}
	}
	if r.Nobody == nil {
		return nil
	}
	// A group that has done nothing there is not listed; the root group is, wherever the kernel counts.
	nobody, counted, err := read(r.Nobody)
	if err != nil || !counted {
		return nil
	}
	c := &charge{own: own, nobody: &nobody}
	for _, g := range r.Kin {
		// One that has gone has no count any more: its part is others' from then on.
		if n, _, err := read(g); err == nil {
			c.kin = c.kin.plus(n, 1)
		}
	}
	if all, err := cgroupio.Everybody(r.Nobody, os.ReadFile); err == nil {
		a := all[key]
		n := (count{a.Reads, a.Writes, a.ReadBytes, a.WriteBytes}).plus(own, -1).plus(c.kin, -1)
		c.others = &n
	}
	return c
}

// chargeCourse is what was charged until the window's end, that of the root group with it if it is asked for; nil where the
// kernel didn't count all the time.
func (r Row) chargeCourse(points []point, end time.Duration, nobody bool) course {
	var c course
	for _, p := range points {
		if p.at > end+sampleEvery && len(c) > 1 {
			break
		}
		if p.charge == nil {
			return nil
		}
		n := r.amount(p.charge.own)
		if nobody && p.charge.nobody != nil {
			n += r.amount(*p.charge.nobody)
		}
		c = append(c, step{p.at, n})
	}
	return c
}
