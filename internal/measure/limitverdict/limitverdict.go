// Package limitverdict judges from a trial's record whether its limits held. It sets none: package trial does.
//
// The comparison depends on how the job reads and writes. Direct and synced I/O is complete when the application learns
// so. There the application's own rate counts, that of each client against its own limit. The kernel's flusher
// completes I/O through the page cache later. There the device's rate counts, that of all clients together against the
// sum of their limits.
//
// Bytes that the flusher wrote after the window count, and so does the time that it took. The device's rate includes all its users.
// Bytes beyond those that the clients wrote are not theirs, and do not mean that a limit is not held.
//
// Easily got wrong: the kernel throttles in slices of 100 ms, lets the first one through, and makes up for a late one,
// so a short window may show more than the limit. And a rate below its limit proves nothing about it.
package limitverdict

import (
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// Of returns what a trial shows about each of its limits on a rate, in the order of limit.Keys. It returns nothing for
// a trial that failed, or whose limits in force are unknown.
func Of(t *record.Trial) []judge.Finding {
	if t.Status != record.Done || len(t.Results) == 0 || len(t.Where) < len(t.Results) {
		return nil
	}
	var all []judge.Finding
	for _, k := range limit.Keys {
		var f *judge.Finding
		switch k {
		case limit.ReadBPS, limit.WriteBPS, limit.ReadIOPS, limit.WriteIOPS:
			f = rate(t, k)
		case limit.CPUs:
			f = cpus(t)
		}
		if f != nil {
			all = append(all, *f)
		}
	}
	return all
}

// AtOnce reports whether the job's reads or writes are complete when the application learns so: direct I/O, and writes
// that are synced within the window.
func AtOnce(t *record.Trial, writes bool) bool {
	s := t.Spec
	if s.Kind == workload.WAL {
		return writes
	}
	if s.Kind == workload.Stage {
		for _, j := range s.Jobs {
			if !j.Job.Direct && !(writes && j.Job.Syncs()) {
				return false
			}
		}
		return len(s.Jobs) > 0
	}
	direct := true
	for i := range t.Results {
		direct = direct && t.Results[i].File.DirectOpen
	}
	return direct || writes && s.Job.Syncs()
}

// done returns what one client did in a direction: bytes and I/Os. A log's commits repeat its writes, with their syncs.
func done(r *workload.Result, writes bool) (bytes, ops int64) {
	for _, c := range r.Classes {
		if !writes && c.Name == "read" || writes && (c.Name == "write" || c.Name == "append") {
			bytes, ops = bytes+c.Bytes, ops+c.Ops
		}
	}
	return bytes, ops
}

// rate judges a limit on I/O.
func rate(t *record.Trial, k limit.Key) *judge.Finding {
	writes := k == limit.WriteBPS || k == limit.WriteIOPS
	inBytes := k == limit.ReadBPS || k == limit.WriteBPS
	if AtOnce(t, writes) {
		// The I/Os of a log's file system are not those of the application.
		if !inBytes && t.Spec.Kind == workload.WAL {
			return nil
		}
		return application(t, k, writes, inBytes)
	}
	return ofDevice(t, k, writes, inBytes)
}

// application judges each client by itself and returns the finding farthest from its limit.
func application(t *record.Trial, k limit.Key, writes, inBytes bool) *judge.Finding {
	var worst *judge.Finding
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
		seen := float64(n) / r.Elapsed.Seconds()
		e := judge.Evidence{Asked: asked, Least: seen, Most: seen, Window: r.Elapsed, InFlight: inFlight(t, inBytes)}
		if inBytes && i < len(t.Truth) {
			// Bytes that the file system adds to a write count against the limit too. I/O in flight may have been
			// charged and not completed.
			charged := t.Truth[i].CgroupRead
			if writes {
				charged = t.Truth[i].CgroupWritten
			}
			e.Reached = max(seen, (float64(charged)-e.InFlight)/r.Elapsed.Seconds())
		}
		worst = farther(worst, e.Of(k), judge.Application)
	}
	return worst
}

// ofDevice judges all clients of a device together, and returns the finding of the device that is farthest from its
// limit.
func ofDevice(t *record.Trial, k limit.Key, writes, inBytes bool) *judge.Finding {
	var worst *judge.Finding
	for _, g := range t.DeviceUses() {
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
		e := judge.Evidence{Asked: asked, Most: float64(n) / elapsed.Seconds(), Window: elapsed, InFlight: inFlight(t, inBytes) + metadata(inBytes)}
		// The clients' own part: the rest of the device's I/O is of others, or of the file system. No I/O is smaller
		// than a page.
		own := moved
		if !inBytes {
			own /= 4096
		}
		e.Least = float64(min(own, n)) / elapsed.Seconds()
		if float64(n) > float64(own)*added+e.InFlight {
			e.Reached = max(e.Least, 1) // Others can't make up for what the clients lack.
		}
		worst = farther(worst, e.Of(k), judge.Device)
	}
	return worst
}

// diskOf returns what a device did in a result's window; nil if that is unknown.
func diskOf(r *workload.Result, d *record.Device) *workload.DiskDelta {
	if d == nil || len(r.Disks) == 0 && r.ProcRead < 0 {
		return nil
	}
	for i := range r.Disks {
		if r.Disks[i].Number == d.Number {
			return &r.Disks[i]
		}
	}
	return &workload.DiskDelta{} // A device that did nothing is not listed.
}

// added is the maximum factor by which a file system with a journal increases what the clients did.
const added = 1.1

// metadata returns how much a file system may write in addition: a journal and a few bitmaps, in bytes or in I/Os of 4
// KiB.
func metadata(inBytes bool) float64 {
	const bytes = 256 << 10
	if inBytes {
		return bytes
	}
	return bytes / 4096
}

// inFlight returns how much may lie between the counters at both ends of a window.
func inFlight(t *record.Trial, inBytes bool) float64 {
	jobs := []load.Job{t.Spec.Job}
	switch t.Spec.Kind {
	case workload.WAL, workload.Append:
		jobs[0].BS = t.Spec.BS
	case workload.Stage:
		jobs = nil
		for _, j := range t.Spec.Jobs {
			jobs = append(jobs, j.Job)
		}
	}
	n := 0.0
	for _, j := range jobs {
		ios := float64(max(j.IODepth, 1) * max(j.NumJobs, 1))
		if _, _, most := j.BlockSizes(); inBytes {
			ios *= float64(max(most, 4096))
		}
		n += ios
	}
	return n
}

// farther returns the finding that is farther above its limit, or nearer to it from below; f was seen at a place.
func farther(worst *judge.Finding, f judge.Finding, at judge.Place) *judge.Finding {
	if worst != nil && worst.Off >= f.Off {
		return worst
	}
	f.At = at
	return &f
}

// cpus judges a limit on CPUs.
func cpus(t *record.Trial) *judge.Finding {
	var worst *judge.Finding
	for i := range t.Results {
		r := &t.Results[i]
		asked := t.Where[i].Held.Of(limit.CPUs)
		used := (r.Usage.User + r.Usage.System).Seconds() / r.Elapsed.Seconds()
		if asked == 0 || r.Elapsed <= 0 {
			continue
		}
		worst = farther(worst, judge.Evidence{Asked: asked, Least: used, Most: used, Window: r.Elapsed}.Of(limit.CPUs), judge.Application)
	}
	return worst
}
