package check

import (
	"time"

	"plimsoll/internal/record"
	"plimsoll/internal/workload"
	"plimsoll/load"
)

// baseSlack is granted to every comparison of bytes: a few pages of metadata and
// the I/Os of a start that no counter is exact about.
const baseSlack = 64 << 10

// look gathers the facts of t.
func look(t *record.Trial, run *record.Run) *view {
	v := &view{t: t, run: run, block: isBlock(t), direct: true}
	for i := range t.Results {
		r := &t.Results[i]
		v.elapsed = max(v.elapsed, r.Elapsed)
		v.direct = v.direct && r.File.DirectOpen
	}
	j := t.Spec.Job
	v.direct = v.direct && v.block
	v.synced = t.Spec.Kind == workload.WAL || v.block && (j.Sync != "" || j.Fsync > 0 || j.FDataSync > 0 || j.EndFsync)
	switch t.Where.FSType {
	case "tmpfs", "ramfs":
		v.memory = true
	}
	depth, jobs := max(j.IODepth, 1), max(j.NumJobs, 1)
	v.threads = jobs * len(t.Results)
	if t.Results[0].IOEngine == load.PSync {
		v.threads *= depth // psync reaches a depth by threads
	}
	tr := t.Truth
	v.read = flow{"read", float64(tr.AppRead), float64(tr.DeviceRead), float64(tr.ProcRead), float64(tr.CgroupRead)}
	v.written = flow{"written", float64(tr.AppWritten), float64(tr.DeviceWritten), float64(tr.ProcWritten), float64(tr.CgroupWritten)}
	v.slack = v.inFlight(depth, jobs)
	return v
}

// inFlight is the slack of v: everything in flight at both ends of every
// client's window, what was not synced yet, and what clients did outside of the longest
// one's window.
func (v *view) inFlight(depth, jobs int) float64 {
	j := v.t.Spec.Job
	bs := float64(max(j.BS, 4096))
	batch := float64(max(depth, j.Fsync, j.FDataSync))
	slack := baseSlack + 2*batch*float64(jobs)*bs*float64(len(v.t.Results))
	if v.elapsed > 0 {
		skew := min(1, float64(v.t.StartSkew)/float64(v.elapsed))
		slack += skew * (v.read.app + v.written.app)
	}
	return slack
}

// onDisk reports whether the place stands on a disk whose counters are known.
func (v *view) onDisk() bool {
	return !v.memory && v.t.Truth.Device != "" && v.read.known() && v.written.known()
}

// mostly returns the direction in which the application moved more.
func (v *view) mostly() flow {
	if v.read.app >= v.written.app {
		return v.read
	}
	return v.written
}

// ops is the number of counted operations of all clients.
func (v *view) ops() int64 {
	var n int64
	for i := range v.t.Results {
		n += v.t.Results[i].Ops()
	}
	return n
}

// cpu is the CPU time of all clients in the window.
func (v *view) cpu() time.Duration {
	var d time.Duration
	for i := range v.t.Results {
		d += v.t.Results[i].Usage.User + v.t.Results[i].Usage.System
	}
	return d
}

// host is what the client with the longest window saw of the machine.
func (v *view) host() workload.HostDelta { return longest(v.t.Results).Host }

// longest returns the result with the longest window, nil if there is none.
func longest(results []workload.Result) *workload.Result {
	var best *workload.Result
	for i := range results {
		if best == nil || results[i].Elapsed > best.Elapsed {
			best = &results[i]
		}
	}
	return best
}

// disk returns what a device did in a result's window.
func disk(r *workload.Result, name string) (workload.DiskDelta, bool) {
	for _, d := range r.Disks {
		if d.Name == name {
			return d, true
		}
	}
	return workload.DiskDelta{}, false
}
