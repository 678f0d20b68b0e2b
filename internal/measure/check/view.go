package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/fingerprint"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// baseSlack is the slack of every comparison of bytes: a few pages of metadata, and I/Os at the start that no counter has
// exactly.
const baseSlack = 64 << 10

// look gathers the facts of t for each device of its clients.
func look(t *record.Trial, run *record.Run) []*view {
	uses := t.DeviceUses()
	var views []*view
	for _, g := range uses {
		v := &view{t: t, run: run, where: g.Where, truth: g.Truth, results: resultsOf(t, g)}
		for _, c := range g.Clients {
			if c < len(t.Truth) && c < len(t.Results) {
				v.truths = append(v.truths, t.Truth[c])
			}
		}
		if len(v.results) == 0 {
			continue // A damaged record: the first device must have the first client.
		}
		for _, other := range uses {
			if other.Where.Host == g.Where.Host {
				v.machine = append(v.machine, resultsOf(t, other)...)
			}
		}
		if len(uses) > 1 {
			v.clients = clientWords(g.Clients)
		}
		v.fill()
		views = append(views, v)
	}
	return views
}

// resultsOf are the results of the clients on g.
func resultsOf(t *record.Trial, g record.DeviceUse) []workload.Result {
	var out []workload.Result
	for _, c := range g.Clients {
		if c < len(t.Results) {
			out = append(out, t.Results[c])
		}
	}
	return out
}

// maxNamed is how many clients a sentence names before it only counts them.
const maxNamed = 8

// clientWords names clients, which people count from 1.
func clientWords(clients []int) string {
	switch {
	case len(clients) == 1:
		return fmt.Sprintf("Client %d", clients[0]+1)
	case len(clients) > maxNamed:
		return fmt.Sprintf("%d clients from client %d on", len(clients), clients[0]+1)
	}
	words := make([]string, len(clients))
	for i, c := range clients {
		words[i] = fmt.Sprint(c + 1)
	}
	last := len(words) - 1
	return "Clients " + strings.Join(words[:last], ", ") + " and " + words[last]
}

// named adds to warnings which clients they concern, if not all.
func (v *view) named(ws []record.Warning) []record.Warning {
	if v.clients != "" {
		for i := range ws {
			ws[i].Text = v.clients + ": " + ws[i].Text
		}
	}
	return ws
}

// checkAlike reports that a trial's clients ran under different conditions although their figures are summed.
func checkAlike(v *view) []record.Warning {
	var differ []string
	for i := 1; i < len(v.t.Where); i++ {
		for _, d := range fingerprint.SameWhere(v.t.Where[0], v.t.Where[i]) {
			if !slices.Contains(differ, d) {
				differ = append(differ, d)
			}
		}
	}
	if len(differ) == 0 {
		return nil
	}
	return warning(Unlike, record.Note, map[string]any{"differences": differ},
		"The clients of this trial ran under different conditions, and the figure is their sum: %s.", strings.Join(differ, "; "))
}

// fill derives the other fields from the results.
func (v *view) fill() {
	t := v.t
	v.block = isBlock(t)
	v.direct = v.block
	for i := range v.results {
		v.direct = v.direct && v.results[i].File.DirectOpen
	}
	for i := range t.Results {
		v.elapsed = max(v.elapsed, t.Results[i].Elapsed)
	}
	j := t.Spec.Job
	v.synced = t.Spec.Kind == workload.WAL || v.block && j.Syncs()
	v.memory = device.IsMemory(v.where.FSType)
	depth, jobs := max(j.IODepth, 1), max(j.NumJobs, 1)
	v.threads = jobs * len(v.machine)
	if e := t.Results[0].IOEngine; e == load.PSync || e == load.MMap {
		v.threads *= depth // They reach a depth by threads
	}
	tr := v.truth
	v.read = flow{"read", float64(tr.AppRead), float64(tr.DeviceRead), float64(tr.ProcRead), float64(tr.CgroupRead)}
	v.written = flow{"written", float64(tr.AppWritten), float64(tr.DeviceWritten), float64(tr.ProcWritten), float64(tr.CgroupWritten)}
	v.slack = v.inFlight(depth, jobs)
}

// inFlight is the slack of v: all I/O in flight at both ends of every client's window, writes not synced yet, and what
// clients did outside of the longest client's window.
func (v *view) inFlight(depth, jobs int) float64 {
	j := v.t.Spec.Job
	_, _, most := j.BlockSizes()
	bs := float64(max(most, 4096))
	batch := float64(max(depth, j.Fsync, j.FDataSync))
	slack := baseSlack + 2*batch*float64(jobs)*bs*float64(len(v.results))
	if v.elapsed > 0 {
		skew := min(1, float64(v.t.StartSkew)/float64(v.elapsed))
		// A client that moves a fixed amount may have done all of it in that time.
		slack += max(skew*(v.read.app+v.written.app), float64(workload.Outside(v.results, longest(v.results))))
	}
	return slack
}

// onDisk reports whether the place stands on a disk whose counters are known.
func (v *view) onDisk() bool {
	return !v.memory && v.truth.Device != "" && v.read.known() && v.written.known()
}

// mostly returns the direction in which the application moved more.
func (v *view) mostly() flow {
	if v.read.app >= v.written.app {
		return v.read
	}
	return v.written
}

// ops is the number of counted operations of results.
func ops(results []workload.Result) int64 {
	var n int64
	for i := range results {
		n += results[i].Ops()
	}
	return n
}

// cpu is the CPU time of all clients on the machine in the window.
func (v *view) cpu() time.Duration {
	var d time.Duration
	for i := range v.machine {
		d += v.machine[i].Usage.User + v.machine[i].Usage.System
	}
	return d
}

// host is the state of the machine as the client with the longest window on the device saw it.
func (v *view) host() workload.HostDelta {
	if r := longest(v.results); r != nil {
		return r.Host
	}
	return workload.HostDelta{}
}

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

// disk returns the counters of a device in a result's window.
func disk(r *workload.Result, name string) (workload.DiskDelta, bool) {
	for _, d := range r.Disks {
		if d.Name == name {
			return d, true
		}
	}
	return workload.DiskDelta{}, false
}
