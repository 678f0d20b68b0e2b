package witness

import (
	"time"

	"plimsoll/internal/host/cgroupio"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

// This file reads what control groups do to a worker: its own group, and all visible groups above it, because each
// binds those below. A worker reads what it can itself, but sees no more than the root of its own view of the groups.
// On the host, or in a container that has no such view, that root is not its group, and a quota of Plimsoll's own unit
// or pod would remain unseen.

// throttles reads how often the CPU controller has stopped each agent's groups; an entry is nil if that is unknown.
func (w *Witness) throttles(agents []*agent.Agent) [][]cgroupio.CPUGroup {
	all := make([][]cgroupio.CPUGroup, len(agents))
	for i, a := range agents {
		if pid := a.Session.Info().PID; pid > 0 {
			// Without a controller nothing stops it.
			all[i], _ = cgroupio.ReadThrottles(w.fs, pid)
		}
	}
	return all
}

// addThrottles adds to results what happened to their groups between two readings, and to their sum if the worker
// itself saw nothing. The readings are a little further apart than the ends of the window, and a ramp lies between them
// too.
func addThrottles(results []workload.Result, before, after [][]cgroupio.CPUGroup) {
	for i := range results {
		t := &results[i].Throttled
		blind := t.Periods == 0
		for _, b := range after[i] {
			d := workload.ThrottledGroup{Group: b.Path, CPUs: b.CPUs, Periods: b.Periods, Time: b.Time}
			for _, a := range before[i] {
				if a.Path == b.Path {
					d.Periods, d.Time = b.Periods-a.Periods, b.Time-a.Time
				}
			}
			if d.Periods <= 0 || d.Time <= 0 {
				continue
			}
			t.Groups = append(t.Groups, d)
			if blind {
				t.Periods, t.Time = t.Periods+d.Periods, t.Time+d.Time
			}
		}
	}
}

// reached reads how often the memory limits of each agent's groups have been reached so far.
func (w *Witness) reached(agents []*agent.Agent) [][]cgroupio.MemoryReached {
	all := make([][]cgroupio.MemoryReached, len(agents))
	for i, a := range agents {
		pid := a.Session.Info().PID
		if pid <= 0 {
			continue
		}
		if m, err := cgroupio.ReadMemory(w.fs, pid); err == nil {
			all[i] = m.Reached()
		}
	}
	return all
}

// addReached records for the clients which memory limits were reached between two readings, including the cell's own.
func addReached(where []record.Where, before, after [][]cgroupio.MemoryReached) {
	for i := range min(len(where), len(before)) {
		for _, b := range after[i] {
			grew := b.Times
			for _, a := range before[i] {
				if a.Path == b.Path {
					grew -= a.Times
				}
			}
			if grew > 0 && b.Limit > 0 {
				where[i].Foreign = append(where[i].Foreign, limit.Applied{Key: limit.Memory, Value: float64(b.Limit), By: limit.ByGroup, Group: b.Path})
			}
		}
	}
}

// A cost is what iocost had counted for an agent's group at one time.
type cost struct {
	at    time.Time
	used  map[device.Number]time.Duration
	group string
}

// costs reads what iocost has counted for each agent's group.
func (w *Witness) costs(agents []*agent.Agent) []cost {
	all := make([]cost, len(agents))
	for i, a := range agents {
		if info := a.Session.Info(); info.PID > 0 {
			all[i].at = time.Now()
			all[i].used, all[i].group, _ = cgroupio.ReadCosts(w.fs, info.PID) // None: nothing limits it.
		}
	}
	return all
}

// addCosts records for the clients which share of their devices' time they used by iocost's models between two
// readings.
func addCosts(where []record.Where, each []seen, before, after []cost) {
	for i := range min(len(where), len(after)) {
		elapsed := after[i].at.Sub(before[i].at)
		for _, n := range each[i].devices {
			if used := after[i].used[n] - before[i].used[n]; used > 0 && elapsed > 0 {
				where[i].Costs = append(where[i].Costs, record.Cost{Device: each[i].nameOf(n), Number: n, Group: after[i].group, Share: used.Seconds() / elapsed.Seconds()})
			}
		}
	}
}

// addDirty records for the clients how much dirty data their memory limits allow.
func (w *Witness) addDirty(where []record.Where, agents []*agent.Agent) {
	for i, a := range agents {
		info := a.Session.Info()
		if i >= len(where) || info.PID <= 0 || info.Guest {
			continue
		}
		if d, err := cgroupio.ReadDirtyRoom(w.fs, info.PID); err == nil && d != nil {
			where[i].Dirty = &record.Dirty{Room: d.Bytes, Limit: d.Limit, Group: d.Group}
		}
	}
}

// addCPUSets records for clients that may use only some of the machine's CPUs which those are, and by which group.
func (w *Witness) addCPUSets(t *record.Trial, agents []*agent.Agent) {
	for i := range t.Results {
		h, info := t.Results[i].Host, agents[i].Session.Info()
		if i >= len(t.Where) || h.Allowed <= 0 || h.Allowed >= h.CPUs {
			continue
		}
		held := limit.Applied{Key: limit.CPUs, Value: float64(h.Allowed), By: limit.ByGroup}
		if info.PID > 0 && !info.Guest {
			if g, n, err := cgroupio.ReadCPUSet(w.fs, info.PID); err == nil && g != nil && n <= h.Allowed {
				held.Group, held.File = g.Path, "cpuset.cpus"
			}
		}
		t.Where[i].Foreign = append(t.Where[i].Foreign, held)
	}
}
