// Package proof compares the limits of a trial with what the trial saw.
//
// What is compared depends on how the job reads and writes. Direct and synced I/O is done when the application is told
// so: there the application's own rate counts, that of each client against its own limit. What goes through the page
// cache is done later, by the kernel's flusher: there the device's rate counts, that of all clients together against
// the sum of their limits.
//
// What the flusher wrote after the window counts with the time that it took. The device's rate is of all who use it: what
// is more than the clients handed over is not theirs, and doesn't make a limit one that is not held.
//
// Easily got wrong: the kernel throttles in slices of 100 ms, lets the first one through, and makes up for one that came late, so that a
// short window may show more than the limit; and a rate below its limit proves nothing about it.
package proof

import (
	"fmt"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/record"
	"plimsoll/internal/size"
	"plimsoll/internal/workload"
)

// Tolerance is the share by which a rate may pass its limit, and by which it may stay below and still be the limit's.
const Tolerance = 0.05

// slice is the time in which the kernel counts for a limit, HZ/10 (throtl_slice in block/blk-throttle.c); the CPU
// controller's period is as long (kernel/sched/core.c).
const slice = 100 * time.Millisecond

// carried are the slices' worth that a window may have beyond its own time: the one that is let through before it is over,
// and one that throtl_trim_slice keeps for what was due and came late, as on a busy machine.
const carried = 2 * slice

// A Verdict says what a trial shows about a limit.
type Verdict string

// Verdicts, in the words of plimsoll limit verify.
const (
	// Held: the limit was reached and not passed.
	Held Verdict = "held"
	// NotHeld: more came through.
	NotHeld Verdict = "limit NOT held"
	// Unproved: something else was slower than the limit.
	Unproved Verdict = "unproved"
)

// Where a rate was seen.
const (
	Application = "application"
	Device      = "device"
)

// A Row is one limit in one trial.
type Row struct {
	Key limit.Key
	// Asked is the limit, Seen the rate: bytes or I/Os a second, or CPUs. At the application they are those of the
	// client that came closest, or went farthest, at the device those of all clients together.
	Asked, Seen float64
	// At is Application or Device.
	At      string
	Verdict Verdict
}

// Error is how far the rate is from the limit, as a share of it: 0.01 is 1 % above.
func (r Row) Error() float64 { return r.Seen/r.Asked - 1 }

// Text is a rate with its unit.
func Text(k limit.Key, v float64) string {
	switch k {
	case limit.ReadBPS, limit.WriteBPS:
		return size.Rate(v)
	case limit.CPUs:
		return fmt.Sprintf("%.2f CPUs", v)
	}
	return size.Count(v) + " I/Os a second"
}

// String is the verdict with its figures: "limit NOT held: asked 10 MiB/s, saw 1.6 GiB/s (160.0 times)".
func (r Row) String() string {
	s := fmt.Sprintf("%s: asked %s, saw %s", r.Verdict, Text(r.Key, r.Asked), Text(r.Key, r.Seen))
	if r.At == Device {
		s += " at the device"
	}
	if e := r.Error(); e < 1 {
		return s + fmt.Sprintf(" (%+.1f %%)", 100*e)
	}
	return s + fmt.Sprintf(" (%.1f times)", r.Seen/r.Asked)
}

// Of returns what a trial shows about each of its limits that is a rate, in the order of limit.Keys; nothing for one
// that failed, or of which it isn't known what was in force.
func Of(t *record.Trial) []Row {
	if t.Status != record.Done || len(t.Results) == 0 || len(t.Where) < len(t.Results) {
		return nil
	}
	var rows []Row
	for _, k := range limit.Keys {
		var r *Row
		switch k {
		case limit.ReadBPS, limit.WriteBPS, limit.ReadIOPS, limit.WriteIOPS:
			r = rate(t, k)
		case limit.CPUs:
			r = cpus(t)
		}
		if r != nil {
			rows = append(rows, *r)
		}
	}
	return rows
}

// AtOnce reports whether what the job reads or writes is done when the application is told so: direct I/O, and writes
// that are synced within the window.
func AtOnce(t *record.Trial, writes bool) bool {
	s := t.Spec
	if s.Kind == workload.WAL {
		return writes
	}
	if s.Kind == workload.Stage {
		for _, j := range s.Jobs {
			if !j.Job.Direct && !(writes && (j.Job.Sync != "" || j.Job.EndFsync || j.Job.Fsync > 0 || j.Job.FDataSync > 0)) {
				return false
			}
		}
		return len(s.Jobs) > 0
	}
	direct := true
	for i := range t.Results {
		direct = direct && t.Results[i].File.DirectOpen
	}
	j := s.Job
	return direct || writes && (j.Sync != "" || j.EndFsync || j.Fsync > 0 || j.FDataSync > 0)
}

// done is what one client did in a direction: bytes and I/Os.
func done(r *workload.Result, writes bool) (bytes, ops int64) {
	for _, c := range r.Classes {
		if c.Name == "write" == writes && (c.Name == "read" || c.Name == "write") || writes && (c.Name == "append" || c.Name == "commit") {
			bytes, ops = bytes+c.Bytes, ops+c.Ops
		}
	}
	return bytes, ops
}

// rate judges a limit on I/O.
func rate(t *record.Trial, k limit.Key) *Row {
	writes := k == limit.WriteBPS || k == limit.WriteIOPS
	inBytes := k == limit.ReadBPS || k == limit.WriteBPS
	if AtOnce(t, writes) {
		// The I/Os of a log's file system are not those of the application.
		if !inBytes && t.Spec.Kind == workload.WAL {
			return nil
		}
		return application(t, k, writes, inBytes)
	}
	return device(t, k, writes, inBytes)
}

// application judges each client by itself and returns the farthest.
func application(t *record.Trial, k limit.Key, writes, inBytes bool) *Row {
	var worst *Row
	for i := range t.Results {
		r := &t.Results[i]
		asked := t.Where[i].Held.Of(k)
		bytes, ops := done(r, writes)
		n := ops
		if inBytes {
			n = bytes
		}
		if asked == 0 || n == 0 || r.Elapsed <= 0 {
			continue
		}
		row := judge(Row{Key: k, Asked: asked, Seen: float64(n) / r.Elapsed.Seconds(), At: Application}, r.Elapsed, slack(t, inBytes))
		if worst == nil || row.Seen > worst.Seen {
			worst = &row
		}
	}
	return worst
}

// device judges all clients of a ground together, and returns the farthest of the grounds.
func device(t *record.Trial, k limit.Key, writes, inBytes bool) *Row {
	var worst *Row
	for _, g := range t.Grounds() {
		asked, moved := 0.0, int64(0)
		var elapsed, settled time.Duration
		var disk *workload.DiskDelta
		var flushed *workload.Flushed
		for _, c := range g.Clients {
			asked += t.Where[c].Held.Of(k)
			bytes, _ := done(&t.Results[c], writes)
			moved += bytes
			if r := &t.Results[c]; r.Elapsed > elapsed {
				elapsed, disk = r.Elapsed, diskOf(r, g.Where.Device)
				if flushed = r.Flushed; flushed != nil && writes {
					settled = r.Settled
				}
			}
		}
		if asked == 0 || moved == 0 || elapsed <= 0 || disk == nil {
			continue
		}
		n := map[[2]bool]int64{
			{true, true}: disk.WrittenBytes, {true, false}: disk.Writes, {false, true}: disk.ReadBytes, {false, false}: disk.Reads,
		}[[2]bool{writes, inBytes}]
		if elapsed += settled; settled > 0 {
			n += map[bool]int64{true: flushed.Bytes, false: flushed.Writes}[inBytes]
		}
		row := judge(Row{Key: k, Asked: asked, Seen: float64(n) / elapsed.Seconds(), At: Device}, elapsed, slack(t, inBytes))
		if inBytes && moved < n && row.Verdict == NotHeld {
			// The clients had less to do than the device did: the rest is others', or the file system's.
			if own := judge(Row{Key: k, Asked: asked, Seen: float64(moved) / elapsed.Seconds(), At: Device}, elapsed, slack(t, inBytes)); own.Verdict != NotHeld {
				row = own
				row.Verdict = Unproved
			}
		}
		if worst == nil || row.Error() > worst.Error() {
			worst = &row
		}
	}
	return worst
}

// diskOf is what a device did in a result's window; nil where that isn't known.
func diskOf(r *workload.Result, d *record.Device) *workload.DiskDelta {
	if d == nil || len(r.Disks) == 0 && r.ProcRead < 0 {
		return nil
	}
	for i := range r.Disks {
		if r.Disks[i].Major == d.Major && r.Disks[i].Minor == d.Minor {
			return &r.Disks[i]
		}
	}
	return &workload.DiskDelta{} // One that did nothing is not listed.
}

// metadata is what a file system may write besides, in bytes: a journal, a few bitmaps.
const metadata = 256 << 10

// slack is what may lie between the counters at both ends of a window: what is in flight, and metadata.
func slack(t *record.Trial, inBytes bool) float64 {
	j := t.Spec.Job
	ios := float64(max(j.IODepth, 1) * max(j.NumJobs, 1))
	if !inBytes {
		return ios + metadata/4096
	}
	_, _, most := j.BlockSizes()
	return ios*float64(max(most, 4096)) + metadata
}

// judge fills in the verdict on a rate over a window.
func judge(r Row, elapsed time.Duration, slack float64) Row {
	allowed := r.Asked*(1+Tolerance) + (r.Asked*carried.Seconds()+slack)/elapsed.Seconds()
	switch {
	case r.Seen > allowed:
		r.Verdict = NotHeld
	case r.Seen >= r.Asked*(1-Tolerance):
		r.Verdict = Held
	default:
		r.Verdict = Unproved
	}
	return r
}

// cpus judges a limit on CPUs.
func cpus(t *record.Trial) *Row {
	var worst *Row
	for i := range t.Results {
		r := &t.Results[i]
		asked := t.Where[i].Held.Of(limit.CPUs)
		used := r.Usage.User + r.Usage.System
		if asked == 0 || r.Elapsed <= 0 {
			continue
		}
		row := judge(Row{Key: limit.CPUs, Asked: asked, Seen: used.Seconds() / r.Elapsed.Seconds(), At: Application}, r.Elapsed, 0)
		if worst == nil || row.Seen > worst.Seen {
			worst = &row
		}
	}
	return worst
}
