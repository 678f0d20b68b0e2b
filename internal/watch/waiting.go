package watch

import (
	"time"

	"plimsoll/internal/host/cgroupio"
	"plimsoll/internal/host/device"
)

// A Pending is the I/O that was charged to a group on a device and was not done yet, as far as the device's own counters
// show.
//
// Version 1 charges all I/O when it is submitted, before a limit makes it wait: 40 MiB that an fsync submits are
// charged in the first tenth of a second, and take four seconds to reach the device with a limit of 10 MiB/s. What
// passed in an interval is therefore the device's own I/O, but at most what was charged.
type Pending struct {
	cgroupio.Counters
	// moved is the time of its last change.
	moved time.Time
}

// stuck is how long nothing may move until waiting I/O counts as lost: a device that fails a request doesn't complete
// it.
const stuck = time.Minute

// A pace is, for one device, the I/O between two samples, the charges of all groups, and the I/O of all that was
// waiting before.
type pace struct{ done, charged, ahead cgroupio.Counters }

// doneOn is the I/O of each device since it was created.
func (s *Sample) doneOn() map[device.Number]cgroupio.Counters {
	out := make(map[device.Number]cgroupio.Counters, len(s.Disks))
	for _, d := range s.Disks {
		out[d.Number] = cgroupio.Counters{
			ReadBytes: int64(d.Read.Sectors) * 512, WriteBytes: int64(d.Write.Sectors) * 512, Reads: int64(d.Read.IOs), Writes: int64(d.Write.IOs),
		}
	}
	return out
}

// paces are those of the devices where the kernel charges I/O before it waits, and counts.
func paces(before, after *Sample) map[device.Number]pace {
	out := map[device.Number]pace{}
	was, now := before.doneOn(), after.doneOn()
	for n, all := range after.All {
		b, counted := before.All[n]
		a, there := now[n]
		c, before0 := was[n]
		if counted && there && before0 {
			out[n] = pace{done: risen(a, c), charged: risen(all, b), ahead: before.Ahead[n]}
		}
	}
	return out
}

// risen is the increase of counters; those that fell count as 0: the sum over all groups loses the groups that are
// removed.
func risen(now, before cgroupio.Counters) cgroupio.Counters {
	return cgroupio.Counters{
		ReadBytes: max(0, now.ReadBytes-before.ReadBytes), WriteBytes: max(0, now.WriteBytes-before.WriteBytes),
		Reads: max(0, now.Reads-before.Reads), Writes: max(0, now.Writes-before.Writes),
	}
}

// through is how much of a group's waiting and newly charged I/O has passed, and how much still waits. It assumes
// that the I/O of others passed at once.
func (p pace) through(waited, charged cgroupio.Counters) (came, waits cgroupio.Counters) {
	each := func(waited, waitedIOs, charged, chargedIOs, done, all int64) (came, cameIOs, waits, waitsIOs int64) {
		most, mostIOs := waited+charged, waitedIOs+chargedIOs
		came = min(most, max(0, done-max(0, all-charged)))
		if cameIOs = mostIOs; came < most {
			// The device counts requests, which may merge several I/Os.
			cameIOs = int64(float64(mostIOs) * float64(came) / float64(most))
		}
		return came, cameIOs, most - came, mostIOs - cameIOs
	}
	came.ReadBytes, came.Reads, waits.ReadBytes, waits.Reads = each(waited.ReadBytes, waited.Reads, charged.ReadBytes, charged.Reads, p.done.ReadBytes, p.charged.ReadBytes)
	came.WriteBytes, came.Writes, waits.WriteBytes, waits.Writes = each(waited.WriteBytes, waited.Writes, charged.WriteBytes, charged.Writes, p.done.WriteBytes, p.charged.WriteBytes)
	return came, waits
}

// unclaimed is the device's I/O beyond all that was charged or known to wait: it was submitted before the first
// sample, and its origin isn't known.
func (p pace) unclaimed() cgroupio.Counters {
	return cgroupio.Counters{
		ReadBytes:  max(0, p.done.ReadBytes-p.charged.ReadBytes-p.ahead.ReadBytes),
		WriteBytes: max(0, p.done.WriteBytes-p.charged.WriteBytes-p.ahead.WriteBytes),
		Reads:      max(0, p.done.Reads-p.charged.Reads-p.ahead.Reads),
		Writes:     max(0, p.done.Writes-p.charged.Writes-p.ahead.Writes),
	}
}

// least is the I/O that can only have been the group's: the device's I/O without all that others were charged or had
// waiting.
func (p pace) least(charged cgroupio.Counters) cgroupio.Counters {
	each := func(done, all, charged, ahead int64) int64 { return max(0, done-max(0, all-charged)-ahead) }
	return cgroupio.Counters{
		ReadBytes:  each(p.done.ReadBytes, p.charged.ReadBytes, charged.ReadBytes, p.ahead.ReadBytes),
		WriteBytes: each(p.done.WriteBytes, p.charged.WriteBytes, charged.WriteBytes, p.ahead.WriteBytes),
		Reads:      each(p.done.Reads, p.charged.Reads, charged.Reads, p.ahead.Reads),
		Writes:     each(p.done.Writes, p.charged.Writes, charged.Writes, p.ahead.Writes),
	}
}

// wait computes the waiting I/O, in all and by subject, from the sample before.
func (s *Sample) wait(before *Sample) {
	if before == nil || s.All == nil {
		return
	}
	all := paces(before, s)
	s.Ahead = map[device.Number]cgroupio.Counters{}
	for n, p := range all {
		// In this sum all charges belong to one.
		alone := pace{done: p.done, charged: p.charged}
		if _, waits := alone.through(p.ahead, p.charged); waits != (cgroupio.Counters{}) {
			s.Ahead[n] = waits
		}
	}
	for ref, r := range s.Subjects {
		r.wait(before.Subjects[ref], all, s.At)
	}
	if s.RootGroup != nil {
		s.RootGroup.wait(before.RootGroup, all, s.At)
	}
}

// wait computes the waiting I/O of one reading.
func (r *Reading) wait(before *Reading, all map[device.Number]pace, at time.Time) {
	if before == nil || before.Subject.Target.Process() != r.Subject.Target.Process() {
		return
	}
	for path, devices := range r.Groups {
		for n, now := range devices {
			p, ok := all[n]
			if !ok {
				continue
			}
			was := before.Waiting[path][n]
			_, waits := p.through(was.Counters, risen(now, before.Groups[path][n]))
			h := Pending{waits, at}
			if waits == was.Counters {
				h.moved = was.moved
			}
			if waits == (cgroupio.Counters{}) || at.Sub(h.moved) > stuck {
				continue
			}
			if r.Waiting == nil {
				r.Waiting = map[string]map[device.Number]Pending{}
			}
			if r.Waiting[path] == nil {
				r.Waiting[path] = map[device.Number]Pending{}
			}
			r.Waiting[path][n] = h
		}
	}
}
