package check

import (
	"fmt"
	"strings"

	"plimsoll/internal/record"
	"plimsoll/internal/workload"
	"plimsoll/load"
)

// sharedFlush is how many syncs of each thread may share one flush: syncs that arrive during a flush of the device wait
// together for the next one, and some may have nothing new to flush.
const sharedFlush = 4

// checkSync asks whether syncs flushed the devices below, down to the hardware. Data whose sync flushed nothing may be in a cache that a
// power cut empties: faster, and less safe.
func checkSync(v *view) []record.Warning {
	if v.memory || v.where.InMemory != "" {
		return nil
	}
	s := v.syncsOf()
	if s.all == 0 {
		return nil
	}
	least := max(1, s.all/int64(sharedFlush*s.threads))
	why := ""
	if v.where.Unflushed != "" {
		why = fmt.Sprintf(" The file system is mounted with %s.", v.where.Unflushed)
	}
	counted, volatile := false, false
	for _, l := range v.truth.Layers {
		if l.On != "" && strings.Contains(l.On, "(") {
			why = fmt.Sprintf(" The file of the loop device above it lies on %s.", l.On)
		}
		volatile = volatile || l.Volatile
		if !l.Volatile || l.Flushes < 0 || l.FUA && s.calls == 0 {
			continue
		}
		counted = true
		if l.Any {
			why = fmt.Sprintf(" The program behind %s did not pass the syncs on, or passed them to another machine.", v.where.FSType)
		}
		if l.Flushes < least {
			return lost(s, l.Name(), l.Flushes, least, why)
		}
	}
	if v.where.Unflushed == "volatile" || v.where.Unflushed != "" && volatile && !counted {
		return unsafe(warning(Sync, record.Doubt, map[string]any{"syncs": s.all, "option": v.where.Unflushed},
			"The file system is mounted with %s, so it answered syncs without a flush (%s). A power cut may lose synced data: the figure is that of a less safe place.", v.where.Unflushed, times(s.all)))
	}
	return nil
}

// lost says that syncs did not flush a device.
func lost(s syncs, device string, flushes, least int64, why string) []record.Warning {
	e := map[string]any{"syncs": s.all, "flushes": flushes, "least": least, "device": device}
	return unsafe(warning(Sync, record.Doubt, e, "Data was synced %s, but %s was flushed %s.%s A power cut may lose synced data: the figure is that of a less safe place.",
		times(s.all), device, times(flushes), why))
}

// syncs counts how often a job made data durable in a window.
type syncs struct {
	// all counts calls and synchronous writes, but no more than there were writes.
	all int64
	// calls are those of fsync and its like.
	calls int64
	// threads do them at a time.
	threads int
}

// syncsOf counts those of the clients on the ground.
func (v *view) syncsOf() syncs {
	var s syncs
	var writes int64
	count := func(classes []load.Class, j load.Job) {
		for _, c := range classes {
			switch {
			case c.Name == "sync":
				s.all += c.Ops
				s.calls += c.Ops
			case c.Name == "write":
				writes += c.Ops
				if j.Sync != "" {
					s.all += c.Ops
				}
			}
		}
		s.threads += max(1, j.NumJobs) * max(1, j.IODepth)
	}
	for i := range v.results {
		r := &v.results[i]
		if v.t.Spec.Kind == workload.Stage {
			for k := range r.Stage {
				count(r.Stage[k].Classes, r.Stage[k].Job)
			}
			continue
		}
		count(r.Classes, v.t.Spec.Job)
	}
	s.all = min(s.all, writes)
	return s
}
